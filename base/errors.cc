#include "base/errors.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace fulcrum {
namespace {

using Kind = ErrorKind;
constexpr ErrorScope kRequest = ErrorScope::request;
constexpr ErrorScope kExtent = ErrorScope::extent;
constexpr ErrorScope kTier = ErrorScope::tier;
constexpr ErrorScope kProcess = ErrorScope::process;

// One row an errno: code, name, kind, how far the damage reaches, whether a retry can help, what to do.
constexpr auto kRows = std::to_array<ErrnoRow>({
    {ENOSPC, "ENOSPC", Kind::no_space, kTier, false, "free space on the filesystem or lower the capacity"},
    {EDQUOT, "EDQUOT", Kind::quota, kTier, false,
     "raise the disk quota (quota -s shows it) or lower the capacity"},
    {EFBIG, "EFBIG", Kind::no_space, kTier, false,
     "raise the file size limit (ulimit -f) or use smaller files"},
    {EROFS, "EROFS", Kind::read_only, kTier, false,
     "remount read-write; if the kernel made it read-only, look for disk errors in dmesg"},
    {EIO, "EIO", Kind::device, kExtent, false,
     "look for disk errors in dmesg and smartctl; the data may be lost"},
    {ENODEV, "ENODEV", Kind::device, kTier, false, "check that the device is present (lsblk) and mounted"},
    {ENXIO, "ENXIO", Kind::device, kTier, false,
     "check that the device answers (lsblk); it may have been removed"},
    {EMFILE, "EMFILE", Kind::file_limit, kProcess, true,
     "raise the open file limit of this process (ulimit -n)"},
    {ENFILE, "ENFILE", Kind::file_limit, kProcess, true,
     "raise the system's file limit (sysctl fs.file-max)"},
    {ENOMEM, "ENOMEM", Kind::no_memory, kProcess, true,
     "free memory, or raise the lockable memory limit (ulimit -l) where buffers are registered"},
    {ENOBUFS, "ENOBUFS", Kind::no_memory, kProcess, true,
     "wait for buffers to come free or lower the I/O depth"},
    {ETIMEDOUT, "ETIMEDOUT", Kind::timed_out, kRequest, true,
     "check that the peer or the mount answers; try again"},
    {ENOENT, "ENOENT", Kind::not_found, kRequest, false, "check the path for a typing error, or create it"},
    {ENOTDIR, "ENOTDIR", Kind::not_found, kRequest, false,
     "a part of the path is a file; name a directory there"},
    {EISDIR, "EISDIR", Kind::bad_input, kRequest, false, "the path is a directory; name a file"},
    {ELOOP, "ELOOP", Kind::not_found, kRequest, false,
     "the path's symbolic links go round in a circle; mend them"},
    {ENAMETOOLONG, "ENAMETOOLONG", Kind::bad_input, kRequest, false, "use a shorter path or a link to it"},
    {EEXIST, "EEXIST", Kind::busy, kRequest, false,
     "remove what already exists there, or choose another name"},
    {ENOTEMPTY, "ENOTEMPTY", Kind::busy, kRequest, false,
     "the directory still holds files; choose an empty one"},
    {EACCES, "EACCES", Kind::permission, kRequest, false,
     "check owner and mode of the path and of every directory above it"},
    {EPERM, "EPERM", Kind::permission, kRequest, false,
     "the user, a container profile (seccomp) or a file attribute (lsattr) forbids it; allow it there"},
    {EAGAIN, "EAGAIN", Kind::busy, kRequest, true, "try again; if it lasts, lower the I/O depth"},
    {EBUSY, "EBUSY", Kind::busy, kRequest, true,
     "something else uses it (fuser -v shows who); try again later"},
    {ETXTBSY, "ETXTBSY", Kind::busy, kRequest, true,
     "the file is a running program or swap; name another file"},
    {EINTR, "EINTR", Kind::interrupted, kRequest, true, "a signal stopped it; start it again"},
    {ECANCELED, "ECANCELED", Kind::interrupted, kRequest, true, "it was cancelled; start it again"},
    {EOPNOTSUPP, "EOPNOTSUPP", Kind::unsupported, kTier, false,
     "this filesystem cannot do it; use ext4 or xfs on a local drive"},
    {ENOSYS, "ENOSYS", Kind::unsupported, kProcess, false,
     "this kernel or container cannot do it; use another kernel or let Fulcrum fall back"},
    {EINVAL, "EINVAL", Kind::unsupported, kTier, false,
     "the filesystem refused the flags, size or alignment (O_DIRECT?); use buffered I/O or another "
     "filesystem"},
    {ESTALE, "ESTALE", Kind::stale, kTier, true, "the network mount was lost or replaced; mount it again"},
    {ECONNREFUSED, "ECONNREFUSED", Kind::unreachable, kRequest, true,
     "nothing listens there; start the server or correct host and port"},
    {ECONNRESET, "ECONNRESET", Kind::unreachable, kRequest, true, "the peer hung up; look at its log"},
    {ECONNABORTED, "ECONNABORTED", Kind::unreachable, kRequest, true,
     "the connection was dropped; try again"},
    {EPIPE, "EPIPE", Kind::unreachable, kRequest, false, "the reader closed its end; look at its log"},
    {ENOTCONN, "ENOTCONN", Kind::unreachable, kRequest, true, "the connection is gone; connect again"},
    {EHOSTUNREACH, "EHOSTUNREACH", Kind::unreachable, kRequest, true,
     "no route to the host; check name and network"},
    {ENETUNREACH, "ENETUNREACH", Kind::unreachable, kRequest, true,
     "the network is down; check the interface"},
    {EADDRINUSE, "EADDRINUSE", Kind::busy, kRequest, true,
     "another program holds the port; choose another port"},
});

/// Second-level text of a message: "cannot open /a/b: detail".
std::string head(const Error& error) {
  std::string out = error.operation.empty() ? std::string() : "cannot " + error.operation;
  const bool detail_has_place = !error.where.empty() && error.detail.starts_with(error.where + ":");
  if (!error.where.empty() && !detail_has_place) out += (out.empty() ? "" : " ") + error.where;
  return out;
}

std::string indent_lines(const std::string& text) {
  std::string out = "\n  ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

}  // namespace

std::span<const ErrnoRow> errno_table() {
  return kRows;
}

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case Kind::no_space:
      return "no space";
    case Kind::quota:
      return "quota";
    case Kind::read_only:
      return "read-only";
    case Kind::device:
      return "device";
    case Kind::file_limit:
      return "file limit";
    case Kind::no_memory:
      return "no memory";
    case Kind::timed_out:
      return "timed out";
    case Kind::not_found:
      return "not found";
    case Kind::permission:
      return "permission";
    case Kind::busy:
      return "busy";
    case Kind::interrupted:
      return "interrupted";
    case Kind::unsupported:
      return "unsupported";
    case Kind::unreachable:
      return "unreachable";
    case Kind::stale:
      return "stale";
    case Kind::bad_input:
      return "bad input";
    case Kind::corrupt:
      return "corrupt";
    case Kind::mismatch:
      return "mismatch";
    case Kind::internal:
      return "internal";
  }
  return "internal";
}

Error os_error(int code, std::string operation, std::string where) {
  const auto row = std::ranges::find(kRows, code, &ErrnoRow::code);
  Error error = make_error(Kind::internal, std::move(operation), std::move(where), {},
                           "this error has no rule yet; please report it with this line");
  error.os_error = code;
  error.detail = std::generic_category().message(code);
  if (row == kRows.end()) {
    error.detail += " (errno " + std::to_string(code) + ")";
    return error;
  }
  error.kind = row->kind;
  error.scope = row->scope;
  error.retryable = row->retryable;
  error.detail += " (" + std::string(row->name) + ")";
  error.next_step = row->next_step;
  return error;
}

Error bad_input(std::string where, std::string detail, std::string next_step) {
  return make_error(Kind::bad_input, {}, std::move(where), std::move(detail), std::move(next_step));
}

Error make_error(ErrorKind kind, std::string operation, std::string where, std::string detail,
                 std::string next_step) {
  Error error;
  error.kind = kind;
  error.operation = std::move(operation);
  error.where = std::move(where);
  error.detail = std::move(detail);
  error.next_step = std::move(next_step);
  return error;
}

std::string Error::message() const {
  std::string out = head(*this);
  if (!detail.empty()) {
    const bool many = detail.find('\n') != std::string::npos;
    out += out.empty() ? "" : (many ? ":" : ": ");
    out += many ? indent_lines(detail) : detail;
  }
  if (!next_step.empty()) out += (out.empty() ? "" : "; ") + next_step;
  return out.empty() ? std::string(to_string(kind)) : out;
}

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
  throw std::runtime_error(error.message() + " (" + where.to_string() + ")");
}

}  // namespace fulcrum
