// Pages of a mapping: to have them all, and how large they are.
#pragma once

#include <cstddef>
#include <span>

namespace fulcrum {

/// Faults all pages in for writing, large mappings in several threads. 0, or the errno that says why not.
[[nodiscard]] int populate(std::span<std::byte> memory);

/// Share of a whole mapping that lies in transparent huge pages, 0..1; 0 where the kernel does not say.
[[nodiscard]] double huge_share(std::span<const std::byte> memory);

}  // namespace fulcrum
