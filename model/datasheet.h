// Prefill cost from a data sheet: for planning before anything was measured.
//
// FLOPs of the model over the peak of the GPU times a usual efficiency, and the weights streamed once a
// call. Intervals are wide (0.6 to 1.6 times) and the verdict is `estimated`; a calibration replaces it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fulcrum/cost.h"
#include "fulcrum/model_shape.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

/// A vendor's figures: dense tensor-core rates, one direction of the link to the host.
struct GpuDatasheet {
  std::string_view name;
  double bf16_flops = 0;  ///< FLOP/s
  double fp8_flops = 0;   ///< 0: the GPU has no such unit
  BytesPerSecond memory_bandwidth{};
  Bytes memory{};
  BytesPerSecond host_link{};
};

/// Every GPU that is known, the usual form of a family first.
[[nodiscard]] std::span<const GpuDatasheet> gpu_table();
/// By name, whatever its case, spaces and hyphens; the start of a name is enough ("h100" is the SXM form).
/// Kinds: bad_input with the nearest name and all that are known.
[[nodiscard]] Result<GpuDatasheet> find_gpu(std::string_view name);

struct DatasheetOptions {
  int gpus = 0;  ///< tensor-parallel; 0: the fewest of 1, 2, 4, 8, 16 that hold the weights
  std::int64_t chunk_tokens = 0;
  double dense_efficiency = 0.55;  ///< matrix products, share of the peak (docs/break_even.md: 0.51 measured)
  double expert_efficiency = 0.35;     ///< the same for mixtures of experts: small products
  double attention_efficiency = 0.60;  ///< docs/break_even.md: 0.6 to 0.7 measured
  double memory_efficiency = 0.80;
  double spread = 1.6;  ///< true costs lie within value/spread .. value*spread, 95 %
  int draws = 200;
  std::uint64_t seed = 1;
};

/// GPUs that the weights need with a tenth of memory to spare: 1, 2, 4, 8 or 16; 0: more than that.
[[nodiscard]] int gpus_needed(const ModelShape& shape, const GpuDatasheet& gpu);

/// Kinds: bad_input (the weights do not fit into the GPUs asked for).
[[nodiscard]] Result<PrefillCost> prefill_from_datasheet(const ModelShape& shape, const GpuDatasheet& gpu,
                                                         const DatasheetOptions& options = {});

}  // namespace fulcrum
