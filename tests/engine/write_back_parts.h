// Parts of the machine of write_back.h: its scale, its profile, its array, and a copier that copies nothing.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "engine/copier.h"
#include "fulcrum/profile.h"
#include "tests/engine/write_back.h"
#include "tiers/file_tier.h"

namespace fulcrum::test::write_back_parts {

inline constexpr std::int64_t kScale = 4;
inline constexpr Bytes kRow = WriteBackOptions::kBlock / kScale;
inline constexpr std::int64_t kBlockTokens = 16;
inline constexpr BytesPerSecond kRead{6.34e9 / kScale};
inline constexpr BytesPerSecond kWrite{WriteBackOptions::kIdeal / kScale};
inline const Namespace kName{.model = "write-back@1", .layout = "paged16", .dtype = "bf16"};

/// Says that rows were copied: what is in them plays no part here.
class NoCopier final : public engine::Copier {
 public:
  void copy(std::vector<engine::RowCopy> /*rows*/, std::size_t /*bytes*/,
            std::function<void()> done) override {
    done_.push_back(std::move(done));
  }
  bool pump() {
    const auto done = std::exchange(done_, {});
    for (const auto& each : done) each();
    return !done.empty();
  }

 private:
  std::vector<std::function<void()>> done_;
};

/// Of the host, with the array as its tier "hdd".
[[nodiscard]] MachineProfile host_profile();
/// What a block of a chain of so many saves when the chain is asked for again, at its part. Seconds.
[[nodiscard]] double value_of(const MachineProfile& profile, std::size_t blocks);
[[nodiscard]] FileTierOptions array_options(const WriteBackOptions& wished);

}  // namespace fulcrum::test::write_back_parts
