// Prefill timings that others published, and how well the law explains and foretells them.
//
// Shared by the test that bounds the errors and by bench/outside_fit, which prints the table of
// docs/break_even.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fulcrum/cost.h"

namespace fulcrum::test {

/// One published series: one model on one machine, one request at a time.
struct OutsideSeries {
  std::string data_set;
  std::string name;
  std::vector<PrefillSample> samples;
  std::string model_config;  ///< file under tests/data/model_configs, where a data sheet can be asked
  std::string gpu;
};

/// Full prefills at concurrency 1 (tests/data/ucm), one series a set-up.
[[nodiscard]] std::vector<OutsideSeries> ucm_series(const std::string& data);
/// Kernel times summed to a prefill of Llama-3.1-8B (tests/data/aiconfigurator): layers x (attention + the
/// products qkv, o, gate and up, down) + the output head once. A product that was not measured takes the
/// time of the nearest measured one, scaled by its FLOPs; between token counts the time is interpolated.
[[nodiscard]] OutsideSeries kernel_series(const std::string& data);
/// Prefills on one H200 (bf16, PyTorch, random weights), as published with this project's design.
[[nodiscard]] std::vector<OutsideSeries> h200_series();

struct RelativeErrors {
  double median = 0;
  double p95 = 0;
  double worst = 0;
  int points = 0;
};
[[nodiscard]] RelativeErrors summary(std::vector<double> errors);

/// |fit/measured - 1| of every sample, fitted with all of them.
[[nodiscard]] std::vector<double> fit_errors(const OutsideSeries& series);
/// The same, each sample foretold by a fit that never saw its shape. `inside` leaves out the shortest and
/// the longest, which can only be extrapolated to. Empty where too few shapes remain for a fit.
[[nodiscard]] std::vector<double> held_out_errors(const OutsideSeries& series, bool inside);
/// Share of held-out samples inside predict()'s 95 % interval, as (held, asked).
[[nodiscard]] std::pair<int, int> held_out_coverage(const OutsideSeries& series);
/// |data sheet/measured - 1|, and whether the wide interval held; empty without model and GPU.
struct DatasheetError {
  double error = 0;
  bool held = false;
};
[[nodiscard]] std::vector<DatasheetError> datasheet_errors(const OutsideSeries& series,
                                                           const std::string& data);

}  // namespace fulcrum::test
