// SseReader: server-sent events out of a byte stream that arrives in arbitrary pieces.
//
// Lines end with LF, CR LF or CR; an event ends with a blank line; its data lines are joined with LF.
// Comments and fields other than `data` are passed over. An event larger than kEventMax is an overflow.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fulcrum::calibrate {

class SseReader {
 public:
  static constexpr std::size_t kEventMax = std::size_t{1} << 20;

  /// Takes the next bytes; returns the data of the events that they complete.
  std::vector<std::string> feed(std::string_view bytes);
  /// An event or a line was too large; nothing more is read.
  [[nodiscard]] bool overflow() const { return overflow_; }

 private:
  void end_line(std::vector<std::string>& events);

  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool overflow_ = false;
};

}  // namespace fulcrum::calibrate
