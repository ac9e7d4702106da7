// Ground on which storage fails: limits, users without rights, small filesystems, forbidden system calls.
//
// All of it lasts for the life of the process: for children only (in_child of scratch.h).
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

namespace fulcrum::test {

inline void set_limit(__rlimit_resource_t resource, rlim_t value) {
  const rlimit limit{value, value};
  setrlimit(resource, &limit);
}

/// Becomes a user without rights. False where that is not allowed.
inline bool become_nobody() {
  return setgid(65534) == 0 && setuid(65534) == 0;
}

/// From here on this process's mounts are its own. Empty, or why that is not allowed.
inline std::string own_mounts() {
  if (unshare(CLONE_NEWNS) != 0) return "skip: unshare: " + std::generic_category().message(errno);
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return "skip: mount: " + std::generic_category().message(errno);
  return {};
}

/// Mounts a tmpfs that only this process sees. Empty, or why it is not allowed.
inline std::string mount_private_tmpfs(const std::string& at, const char* data, unsigned long flags = 0) {
  if (std::string why = own_mounts(); !why.empty()) return why;
  if (mount("fulcrum-test", at.c_str(), "tmpfs", flags, data) != 0)
    return "skip: mount: " + std::generic_category().message(errno);
  return {};
}

/// Mounts a new ext4 of so many MiB, in a file beside the directory, that only this process sees.
inline std::string mount_private_ext4(const std::string& at, int mebibytes) {
  if (std::string why = own_mounts(); !why.empty()) return why;
  const std::string image = at + ".image";
  const std::string make =
      "mkfs.ext4 -q -F -O ^has_journal -m 0 " + image + " " + std::to_string(mebibytes) + "M";
  const std::string attach = "mount -o loop " + image + " " + at;
  const std::string all =
      "(" + make + " && " + attach + ") >/dev/null 2>&1; r=$?; rm -f " + image + "; exit $r";
  return std::system(all.c_str()) == 0 ? std::string() : "skip: no ext4 on a loop device here";
}

/// Which calls are refused: all of this number, or those whose argument has one of the bits of `mask`.
struct Refusal {
  long call;
  unsigned errno_code;
  unsigned argument = 0;
  unsigned mask = 0;  ///< 0: all of them
};

/// False where filters are not allowed.
inline bool refuse(const Refusal& refusal) {
  const auto number = static_cast<unsigned>(refusal.call);
  const auto argument =
      static_cast<unsigned>(offsetof(seccomp_data, args) + sizeof(std::uint64_t) * refusal.argument);
  const std::array<sock_filter, 6> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
      BPF_JUMP(BPF_JMP | (refusal.mask == 0 ? BPF_JGE : BPF_JSET) | BPF_K, refusal.mask, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | refusal.errno_code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{program.size(), const_cast<sock_filter*>(program.data())};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace fulcrum::test
