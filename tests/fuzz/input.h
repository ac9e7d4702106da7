// What every fuzz target is made of: its input, taken apart front to back, and the laws that it holds to.
//
// An input that ran out gives zeros, so that every input means something. A law that is broken is thrown: the
// quick tests report it, and a fuzzer takes it for the crash that it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fulcrum::fuzz {

using Bits = std::vector<std::byte>;

class LawBroken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void require(bool holds, const std::string& law) {
  if (!holds) throw LawBroken(law);
}

class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    const std::span<const std::byte> one = take(1);
    return one.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(one.front());
  }
  std::uint32_t pair() {
    const std::uint32_t low = byte();
    return low | (std::uint32_t{byte()} << 8);
  }
  /// The next `most` bytes, or as many as there are.
  std::span<const std::byte> take(std::size_t most) {
    const std::span<const std::byte> head = rest_.first(std::min(most, rest_.size()));
    rest_ = rest_.subspan(head.size());
    return head;
  }
  std::string_view text() {
    const std::span<const std::byte> all = take(rest_.size());
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace fulcrum::fuzz
