#include "calibrate/memory_copy.h"

#include <cstring>

namespace fulcrum::calibrate {

BytesPerSecond copy_blocks(const Clock& clock, std::span<const std::byte> source, std::span<std::byte> target,
                           Bytes block, Seconds window, Random random) {
  const auto size = static_cast<std::size_t>(block.value());
  const Seconds from = clock.now();
  Bytes moved{};
  Seconds now = from;
  while (now - from < window) {
    const std::size_t to = random.below(target.size() / size) * size;
    std::memcpy(target.data() + to, source.data() + random.below(source.size() / size) * size, size);
    moved += block;
    now = clock.now();
  }
  return moved / (now - from);
}

}  // namespace fulcrum::calibrate
