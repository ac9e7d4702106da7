// How much of a configured capacity is for blocks: the table of docs/operating.md, line by line.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "base/document.h"
#include "tiers/file_layout.h"

namespace fulcrum {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr Bytes kRow(2 * kMiB);

std::string line_for(Bytes capacity, Medium medium) {
  const auto layout = FileLayout::for_capacity(capacity, kRow, medium);
  if (!layout) return layout.error().message();
  std::array<char, 128> line{};
  std::snprintf(line.data(), line.size(), "| %s%s | %u of %s | %u | %lld | %.0f %% |",
                format(capacity).c_str(), medium == Medium::hdd ? ", HDD" : "", layout->segments,
                format(layout->segment_bytes).c_str(), layout->spare_segments(),
                static_cast<long long>(layout->capacity().value() / kRow.value()),
                100 * (layout->capacity() / capacity));
  return line.data();
}

TEST(FileLayout, UsesTheShareOfACapacityThatTheDocumentsTell) {
  std::ifstream in(FULCRUM_SOURCE_DIR "/docs/operating.md");
  std::ostringstream text;
  text << in.rdbuf();
  for (const std::int64_t mib : {48, 128, 512, 1024, 10240, 61440, 1048576}) {
    for (const Medium medium : {Medium::flash, Medium::hdd}) {
      if (medium == Medium::hdd && mib != 1048576) continue;
      const std::string line = line_for(Bytes(mib * kMiB), medium);
      std::cout << line << '\n';
      EXPECT_NE(text.str().find(line + "\n"), std::string::npos) << "not in docs/operating.md";
    }
  }
}

}  // namespace
}  // namespace fulcrum
