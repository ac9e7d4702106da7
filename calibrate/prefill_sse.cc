#include "calibrate/prefill_sse.h"

#include <utility>

namespace fulcrum::calibrate {

std::vector<std::string> SseReader::feed(std::string_view bytes) {
  std::vector<std::string> events;
  for (const char c : bytes) {
    const bool second_half_of_crlf = c == '\n' && after_cr_;
    after_cr_ = c == '\r';
    if (second_half_of_crlf) continue;
    if (c == '\r' || c == '\n') {
      end_line(events);
    } else {
      line_ += c;
    }
    overflow_ = overflow_ || line_.size() + data_.size() > kEventMax;
    if (overflow_) break;
  }
  return events;
}

void SseReader::end_line(std::vector<std::string>& events) {
  constexpr std::string_view kData = "data:";
  if (line_.empty()) {
    if (has_data_) events.push_back(std::exchange(data_, {}));
    has_data_ = false;
    return;
  }
  if (line_.starts_with(kData)) {
    std::string_view value = std::string_view(line_).substr(kData.size());
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += value;
  }
  line_.clear();
}

}  // namespace fulcrum::calibrate
