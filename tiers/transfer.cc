#include "tiers/transfer.h"

#include <cerrno>
#include <string>

#include "base/check.h"
#include "base/errors.h"
#include "tiers/file_set.h"

namespace fulcrum {

Transfer::Next Transfer::fail(Failure failure, int code) {
  failure_ = failure;
  code_ = code;
  return Next::finished;
}

Transfer::Next Transfer::advance(std::int64_t answer) {
  if (answer < 0) {
    const int code = static_cast<int>(-answer);
    // A filesystem that cannot take space beforehand takes it with the writes.
    if (request_.kind == IoKind::allocate && (code == EOPNOTSUPP || code == ENOSYS)) return Next::finished;
    const bool passing = code == EINTR || code == EAGAIN;
    if (!passing || ++fruitless_ > kFruitlessMax) return fail(Failure::system, code);
    return Next::again;
  }
  if (!moves_bytes()) return Next::finished;
  FULCRUM_CHECK(static_cast<std::size_t>(answer) <= request_.buffer.size() - done_,
                "the system moved more bytes than it was asked for");
  const std::size_t reached = done_ + static_cast<std::size_t>(answer);
  if (reached == request_.buffer.size()) {
    done_ = reached;
    return Next::finished;
  }
  // A direct transfer can only go on from an aligned place; an end of file between two of them is final.
  const std::size_t whole = reached / step_ * step_;
  if (whole == done_) return fail(Failure::stopped_short);
  done_ = whole;
  fruitless_ = 0;
  ++resumed_;
  return Next::again;
}

IoCompletion Transfer::completion(Seconds now, const FileSet& files) const {
  IoCompletion out;
  out.tag = request_.tag;
  out.kind = request_.kind;
  out.latency = now - submitted_;
  out.bytes = done_;
  if (failure_ == Failure::none) {
    out.bytes = static_cast<std::size_t>(size_of(request_));
    return out;
  }
  const std::string verb(to_string(request_.kind));
  const std::string place = files.where(rest_offset());
  if (failure_ == Failure::system) {
    out.result = os_error(code_, verb, place);
  } else {
    Error error = make_error(ErrorKind::device, verb, place,
                             std::to_string(done_) + " of " + std::to_string(request_.buffer.size()) +
                                 " bytes moved, then no more: past the end of the file",
                             "something shortened the file, or the filesystem lost a part of it");
    error.scope = ErrorScope::tier;
    out.result = error;
  }
  return out;
}

}  // namespace fulcrum
