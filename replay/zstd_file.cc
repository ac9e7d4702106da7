#include "replay/zstd_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/errors.h"

namespace fulcrum::replay {

namespace {

constexpr int kWindowLogMax = 27;
constexpr std::size_t kChunk = std::size_t{128} << 10;

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

bool starts_like_zstd(const char* data, std::size_t size) {
  constexpr unsigned char kMagic[4] = {0x28, 0xB5, 0x2F, 0xFD};
  return size >= sizeof kMagic && std::memcmp(data, kMagic, sizeof kMagic) == 0;
}

}  // namespace

class LineReader::Impl {
 public:
  Impl(std::string path, int fd) : path_(std::move(path)), fd_(fd), input_(kChunk) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { ::close(fd_); }

  Result<void> start() {
    auto got = refill();
    if (got.has_error()) return got.error();
    if (!starts_like_zstd(input_.data(), filled_)) return {};
    stream_.reset(ZSTD_createDStream());
    if (!stream_) return os_error(ENOMEM, "unpack", path_);
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kWindowLogMax);
    return {};
  }

  Result<bool> next(std::string_view& line) {
    std::size_t scanned = begin_;
    for (;;) {
      const std::size_t end = text_.find('\n', scanned);
      if (end != std::string::npos) return give(line, end, end + 1);
      scanned = text_.size() - begin_;
      if (scanned > kLineMax) {
        return bad_input(path_ + ":" + std::to_string(number_ + 1), "the line is longer than 64 MiB",
                         "give a file with one record a line");
      }
      text_.erase(0, std::exchange(begin_, 0));
      auto more = append();
      if (more.has_error()) return more.error();
      if (*more) continue;
      if (text_.empty()) return false;
      return give(line, text_.size(), text_.size());
    }
  }

  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  bool give(std::string_view& line, std::size_t end, std::size_t next_begin) {
    line = std::string_view(text_).substr(begin_, end - begin_);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    begin_ = next_begin;
    ++number_;
    return true;
  }

  /// Reads the next chunk of the file into input_; filled_ = 0 at the end.
  Result<void> refill() {
    for (;;) {
      const ssize_t got = ::read(fd_, input_.data(), input_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return os_error(errno, "read", path_);
      filled_ = static_cast<std::size_t>(got);
      taken_ = 0;
      return {};
    }
  }

  /// Adds text; false at the end of the file.
  Result<bool> append() {
    if (taken_ == filled_ && !has_more_output_) {
      auto got = refill();
      if (got.has_error()) return got.error();
      if (filled_ == 0) return at_end();
    }
    if (!stream_) {
      text_.append(input_.data() + taken_, filled_ - taken_);
      taken_ = filled_;
      return true;
    }
    return unpack();
  }

  Result<bool> at_end() const {
    if (!frame_open_) return false;
    return make_error(ErrorKind::corrupt, "unpack", path_,
                      "the packed file ends in the middle of its data, after line " + std::to_string(number_),
                      "Fetch or copy the file again.");
  }

  Result<bool> unpack() {
    const std::size_t before = text_.size();
    text_.resize(before + kChunk);
    ZSTD_inBuffer in{input_.data(), filled_, taken_};
    ZSTD_outBuffer out{text_.data() + before, kChunk, 0};
    const std::size_t rest = ZSTD_decompressStream(stream_.get(), &out, &in);
    text_.resize(before + out.pos);
    if (ZSTD_isError(rest) != 0U) {
      return make_error(ErrorKind::corrupt, "unpack", path_,
                        std::string(ZSTD_getErrorName(rest)) + ", after line " + std::to_string(number_),
                        "Fetch or copy the file again; its window may be 2^27 bytes at most.");
    }
    taken_ = in.pos;
    has_more_output_ = out.pos == kChunk && rest != 0;
    frame_open_ = rest != 0;
    return true;
  }

  std::string path_;
  int fd_;
  std::vector<char> input_;
  std::size_t filled_ = 0;
  std::size_t taken_ = 0;
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_;
  bool has_more_output_ = false;
  bool frame_open_ = false;
  std::string text_;
  std::size_t begin_ = 0;
  std::size_t number_ = 0;
};

LineReader::LineReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

Result<LineReader> LineReader::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return os_error(errno, "open", path);
  auto impl = std::make_unique<Impl>(path, fd);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return os_error(errno, "read", path);
  if (S_ISDIR(status.st_mode)) return bad_input(path, "this is a directory", "give the file itself");
  auto started = impl->start();
  if (started.has_error()) return started.error();
  return LineReader(std::move(impl));
}

Result<bool> LineReader::next(std::string_view& line) {
  return impl_->next(line);
}
std::size_t LineReader::number() const {
  return impl_->number();
}

}  // namespace fulcrum::replay
