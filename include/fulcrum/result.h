// Result<T>: a value or an Error that says what failed, where, and what to do next.
//
// Environment errors (a full disk, a missing file, a bad key in a policy) travel as values; nothing in
// Fulcrum throws across this front door. Programmer errors abort (base/check.h). Expected outcomes such
// as "miss" or "recompute" are not errors and have their own types.
//
// Built on boost::system::result, the one third-party header that the front door includes.
#pragma once

#include <boost/system/result.hpp>
#include <string>

namespace fulcrum {

/// What class of thing went wrong. base/errors.h maps every errno to one of these.
enum class ErrorKind {
  no_space,     ///< the device is full (ENOSPC)
  quota,        ///< a user, group or project quota is used up (EDQUOT)
  read_only,    ///< the filesystem does not accept writes (EROFS)
  device,       ///< the device reported a failure (EIO, ENODEV, ENXIO)
  file_limit,   ///< out of file descriptors (EMFILE, ENFILE)
  no_memory,    ///< out of memory or of lockable memory (ENOMEM)
  timed_out,    ///< no answer within the time allowed (ETIMEDOUT)
  not_found,    ///< no such file, directory or host (ENOENT)
  permission,   ///< not allowed (EACCES, EPERM)
  busy,         ///< try again later (EAGAIN, EBUSY)
  interrupted,  ///< stopped by a signal or by the operator (EINTR)
  unsupported,  ///< this kernel, filesystem or build cannot do it (EOPNOTSUPP, ENOSYS)
  unreachable,  ///< a peer could not be reached or hung up (ECONNREFUSED, EPIPE)
  stale,        ///< the thing exists no more under this handle (ESTALE)
  bad_input,    ///< a file, argument or value that the user gave is wrong
  corrupt,      ///< bytes that fail their checksum or their own structure
  mismatch,     ///< a valid thing that belongs to another machine, model or version
  internal,     ///< anything else; please report it
};

/// How far the damage reaches: what the caller should stop using.
enum class ErrorScope { request, extent, tier, process };

/// One failure. `message()` is one line for people: what, where, and what to do next.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  ErrorScope scope = ErrorScope::request;
  bool retryable = false;
  int os_error = 0;       ///< errno, or 0 where no system call failed
  std::string operation;  ///< what was being done: "open", "write", "parse"
  std::string where;      ///< path, file:line:column, host:port or tier
  std::string detail;     ///< what exactly is wrong; may hold several lines (one problem a line)
  std::string next_step;  ///< what the reader can do about it

  [[nodiscard]] std::string message() const;
};

/// Called by Result::value() on an error. Fulcrum itself never calls value() unchecked.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& where);

/// A T, or an Error. Discarding one without a look is a compiler warning.
template <class T>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
 public:
  using boost::system::result<T, Error>::result;
};

}  // namespace fulcrum
