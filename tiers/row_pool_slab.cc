#include "tiers/row_pool_slab.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/errors.h"
#include "base/quantity_text.h"
#include "tiers/numa.h"
#include "tiers/row_pool_pages.h"
#include "tiers/row_pool_room.h"
#include "tiers/sys_file.h"

namespace fulcrum {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr auto kHugePool = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";

std::size_t round_up(std::size_t size, std::size_t step) {
  return (size + step - 1) / step * step;
}

Error no_room(std::size_t size, const std::string& detail) {
  return make_error(ErrorKind::no_memory, "take",
                    format_exact(Bytes(static_cast<std::int64_t>(size))) + " for rows", detail,
                    "lower the capacity of the memory tier or the staging, or raise that limit");
}

}  // namespace

Result<std::unique_ptr<RowSlab>> RowSlab::create(std::size_t size, const RowPoolOptions& options) {
  if (options.touch && options.huge_pages != HugePages::always) {
    const std::optional<MemoryRoom> room = memory_room();
    if (room && static_cast<std::int64_t>(size) > room->free.value()) {
      return no_room(size, "there are " + format_exact(room->free) + " left within " + room->limit);
    }
  }
  std::unique_ptr<RowSlab> slab(new RowSlab);
  if (Result<void> done = slab->reserve(size, options); done.has_error()) return done.error();
  if (options.shared) {
    if (Result<void> done = slab->open_memory_file(options); done.has_error()) return done.error();
  }
  if (Result<void> done = slab->map(options); done.has_error()) return done.error();
  if (options.numa_node >= 0) {
    if (Result<void> done = slab->bind(options.numa_node); done.has_error()) return done.error();
  }
  if (options.touch) {
    if (Result<void> done = slab->touch(); done.has_error()) return done.error();
  }
  slab->description_ = slab->pages(options);
  if (options.numa_node >= 0) slab->description_ += ", node " + std::to_string(options.numa_node);
  if (options.shared) slab->description_ += ", shared";
  return slab;
}

RowSlab::~RowSlab() {
  if (reserved_ != nullptr) munmap(reserved_, reserved_size_);
  if (descriptor_ >= 0) close(descriptor_);
}

// Addresses only: the slab goes into the middle, and what is left over on both sides stays closed.
Result<void> RowSlab::reserve(std::size_t size, const RowPoolOptions& options) {
  const std::size_t unit =
      options.huge_pages == HugePages::always ? kHugePage : static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  size_ = round_up(size, unit);
  reserved_size_ = size_ + 2 * kHugePage;
  void* at = mmap(nullptr, reserved_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    return no_room(size, "the address space is limited (ulimit -v): " + os_error(errno, {}, {}).detail);
  }
  reserved_ = static_cast<std::byte*>(at);
  const auto begin = reinterpret_cast<std::uintptr_t>(reserved_);
  data_ = reserved_ + (round_up(begin + 1, kHugePage) - begin);
  return {};
}

Result<void> RowSlab::open_memory_file(const RowPoolOptions& options) {
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  if (options.huge_pages == HugePages::always) flags |= MFD_HUGETLB | MFD_HUGE_2MB;
  descriptor_ = memfd_create("fulcrum-rows", flags);
  if (descriptor_ < 0) return refused(errno, "open a memory file of", options);
  if (ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) {
    return refused(errno, "size a memory file to", options);
  }
  // A file cut short by another process would kill this one at its next access.
  if (fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return refused(errno, "seal a memory file of", options);
  }
  return {};
}

Result<void> RowSlab::map(const RowPoolOptions& options) {
  int flags = MAP_FIXED | (options.shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
  if (options.huge_pages == HugePages::always && !options.shared)
    flags |= MAP_HUGETLB | static_cast<int>(MFD_HUGE_2MB);
  if (mmap(data_, size_, PROT_READ | PROT_WRITE, flags, descriptor_, 0) == MAP_FAILED) {
    return refused(errno, "map", options);
  }
  // Advice may be refused (no transparent huge pages in this kernel): description() tells what came of it.
  if (options.huge_pages == HugePages::automatic) madvise(data_, size_, MADV_HUGEPAGE);
  if (options.huge_pages == HugePages::never) madvise(data_, size_, MADV_NOHUGEPAGE);
  return {};
}

Error RowSlab::refused(int code, const std::string& operation, const RowPoolOptions& options) const {
  const std::string size = format_exact(Bytes(static_cast<std::int64_t>(size_)));
  if (options.huge_pages == HugePages::always &&
      (code == ENOMEM || code == ENODEV || code == EINVAL || code == ENOSYS)) {
    const std::string free = first_line(kHugePool);
    return make_error(ErrorKind::unsupported, "take", size + " in 2 MiB pages",
                      std::to_string(size_ / kHugePage) + " pages are needed, " +
                          (free.empty() ? "none" : free) + " are set aside and free",
                      "set them aside (sysctl vm.nr_hugepages) or do not insist on huge pages");
  }
  if (code == ENOMEM || code == ENOSPC || code == EFAULT) {
    return no_room(size_, "the kernel refused it: " + os_error(code, {}, {}).detail +
                              "; ulimit -v and vm.overcommit_memory limit it too");
  }
  return os_error(code, operation, size);
}

// The system call itself: libnuma would be one more library for one line.
Result<void> RowSlab::bind(int node) {
  const std::string where = "NUMA node " + std::to_string(node);
  const std::vector<NumaNode> nodes = numa_nodes();
  const bool there =
      std::any_of(nodes.begin(), nodes.end(), [node](const NumaNode& each) { return each.id == node; });
  if (!there) {
    std::string known;
    for (const NumaNode& each : nodes) known += (known.empty() ? "" : ", ") + std::to_string(each.id);
    return make_error(ErrorKind::unsupported, "bind rows to", where,
                      "this machine has " + (known.empty() ? "none" : "node " + known),
                      "name one of them, or none");
  }
  constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::vector<unsigned long> mask(static_cast<std::size_t>(node) / kBits + 1);
  mask.back() |= 1UL << (static_cast<std::size_t>(node) % kBits);
  // The kernel reads one bit less than it is told.
  if (syscall(SYS_mbind, data_, size_, MPOL_BIND, mask.data(), mask.size() * kBits + 1, 0) == 0) return {};
  Error error = os_error(errno, "bind rows to", where);
  if (error.kind != ErrorKind::permission) error.kind = ErrorKind::unsupported;
  return error;
}

Result<void> RowSlab::touch() {
  const int code = populate(memory());
  if (code == 0) return {};
  return no_room(size_, "not all of its pages could be had: " + os_error(code, {}, {}).detail);
}

std::string RowSlab::pages(const RowPoolOptions& options) const {
  if (options.huge_pages == HugePages::always) return "2 MiB pages";
  std::string small = std::to_string(sysconf(_SC_PAGESIZE) >> 10) + " KiB pages";
  if (options.huge_pages == HugePages::never) return small;
  if (!options.touch) return small + ", larger ones asked for";
  const int percent = static_cast<int>(std::floor(100 * huge_share(memory())));
  if (percent >= 99) return "2 MiB pages";
  return percent == 0 ? small : small + ", 2 MiB pages for " + std::to_string(percent) + " %";
}

}  // namespace fulcrum
