// RegisteredRegion: memory known to the kernel in pieces, and which piece holds a given buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace fulcrum {

class RegisteredRegion {
 public:
  /// The kernel takes at most 1 GiB in one registered buffer, and a little under 2 GiB in one transfer.
  static constexpr std::size_t kPiece = std::size_t{1} << 30;

  RegisteredRegion() = default;
  explicit RegisteredRegion(std::span<std::byte> memory, std::size_t piece = kPiece)
      : memory_(memory), piece_(piece) {}

  [[nodiscard]] bool empty() const { return memory_.empty(); }

  [[nodiscard]] std::vector<std::span<std::byte>> pieces() const {
    std::vector<std::span<std::byte>> out;
    for (std::size_t begin = 0; begin < memory_.size(); begin += piece_) {
      out.push_back(memory_.subspan(begin, std::min(piece_, memory_.size() - begin)));
    }
    return out;
  }

  /// Index of the piece that holds all of `buffer`, or -1.
  [[nodiscard]] int piece_of(std::span<const std::byte> buffer) const {
    // std::less orders any two pointers; < only those into one array.
    const std::less<const std::byte*> before;
    if (buffer.empty() || empty() || before(buffer.data(), memory_.data()) ||
        before(memory_.data() + memory_.size() - 1, buffer.data())) {
      return -1;
    }
    const auto begin = static_cast<std::size_t>(buffer.data() - memory_.data());
    const std::size_t last = begin + buffer.size() - 1;
    return last < memory_.size() && begin / piece_ == last / piece_ ? static_cast<int>(begin / piece_) : -1;
  }

 private:
  std::span<std::byte> memory_;
  std::size_t piece_ = kPiece;
};

}  // namespace fulcrum
