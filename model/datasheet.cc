#include "model/datasheet.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/errors.h"
#include "base/random.h"
#include "model/quantile.h"

namespace fulcrum {
namespace {

constexpr double kMemoryForWeights = 0.9;  // the rest holds activations and a little KV
constexpr double kRequestOverhead = 3e-3;  // scheduling, tokenising and the first sampling, seconds

/// Peak for the products: 8-bit weights run on the 8-bit units, smaller ones are widened first.
double product_peak(const ModelShape& shape, const GpuDatasheet& gpu) {
  const bool eight_bit = shape.weight_element_bytes == 1.0 && gpu.fp8_flops > 0;
  return eight_bit ? gpu.fp8_flops : gpu.bf16_flops;
}

PrefillLaw central_law(const ModelShape& shape, const GpuDatasheet& gpu, const DatasheetOptions& options,
                       int gpus) {
  const double efficiency = shape.experts > 0 ? options.expert_efficiency : options.dense_efficiency;
  const double products = product_peak(shape, gpu) * efficiency * gpus;
  const double attention = gpu.bf16_flops * options.attention_efficiency * gpus;
  // Attention is a + b*n + c*n^2/2 far out: its slope and curvature there give th2's and th3's shares.
  const Tokens far(1 << 20);
  const Tokens step(1 << 10);
  const auto price = [&](Tokens cached) { return shape.attention_flops(step, cached) / 1024; };
  const double curvature = (price(far + step) - price(far)) / 1024;
  const double slope = price(far) - curvature * (static_cast<double>(far.value()) + 512);
  const double head = 2 * static_cast<double>(shape.hidden * shape.vocab);
  const double body = shape.linear_flops(Tokens(1)) - head;

  PrefillLaw law;
  law.chunk_tokens = options.chunk_tokens;
  law.theta[0] = kRequestOverhead + head / products;
  law.theta[2] = body / products + std::max(0.0, slope) / attention;
  law.theta[3] = curvature / attention;
  // Below the knee a call takes as long as its weights: th5 = th2 makes it flat there.
  const double bandwidth = gpu.memory_bandwidth.value() * options.memory_efficiency * gpus;
  const double stream = static_cast<double>(shape.weight_bytes().value()) / bandwidth;
  law.theta[5] = law.theta[2];
  law.knee_tokens = static_cast<std::int64_t>(stream / law.theta[2]);
  return law;
}

}  // namespace

int gpus_needed(const ModelShape& shape, const GpuDatasheet& gpu) {
  for (int gpus = 1; gpus <= 16; gpus *= 2) {
    const double room = kMemoryForWeights * static_cast<double>(gpu.memory.value()) * gpus;
    if (static_cast<double>(shape.weight_bytes().value()) <= room) return gpus;
  }
  return 0;
}

Result<PrefillCost> prefill_from_datasheet(const ModelShape& shape, const GpuDatasheet& gpu,
                                           const DatasheetOptions& options) {
  FULCRUM_CHECK(options.gpus >= 0 && options.spread > 1 && options.draws >= 1, "data sheet options");
  const int needed = gpus_needed(shape, gpu);
  if (needed == 0 || (options.gpus > 0 && options.gpus < needed)) {
    const std::string wanted = needed == 0 ? "more than 16" : "at least " + std::to_string(needed);
    return bad_input(std::string(gpu.name),
                     "the weights of " + shape.name + " take " +
                         std::to_string(shape.weight_bytes().value() >> 30) + " GiB, which need " + wanted +
                         " of these GPUs",
                     "name a larger GPU or give more of them");
  }
  PrefillCost cost;
  cost.law = central_law(shape, gpu, options, options.gpus > 0 ? options.gpus : needed);
  cost.domain = Tokens(shape.max_positions);
  cost.verdict = Verdict::estimated;
  // Products and attention miss their efficiencies independently; what is fixed goes with the products.
  Random random = Random(options.seed).split("data sheet");
  const double deviation = std::log(options.spread) / normal_quantile(0.975);
  for (int i = 0; i < options.draws; ++i) {
    const double products = std::exp(deviation * random.normal());
    const double attention = std::exp(deviation * random.normal());
    auto theta = cost.law.theta;
    for (std::size_t term = 0; term < theta.size(); ++term) theta[term] *= term == 3 ? attention : products;
    cost.draws.push_back(theta);
  }
  return cost;
}

}  // namespace fulcrum
