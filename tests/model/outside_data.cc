#include "tests/model/outside_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "model/datasheet.h"
#include "model/quantile.h"
#include "tests/model/csv.h"

namespace fulcrum::test {
namespace {

/// Serving stacks pad to tiles that the published lengths do not resolve.
constexpr PrefillFitOptions kOptions{
    .chunk_tokens = 0, .knee_tokens = 256, .tile_tokens = 1, .draws = 200, .seed = 1};

/// Straight line through the two measured points around `at`; their ends are extended.
double interpolate(const std::map<int, double>& curve, int at) {
  auto above = curve.lower_bound(at);
  if (above == curve.end()) --above;
  if (above == curve.begin()) ++above;
  const auto below = std::prev(above);
  const double share =
      static_cast<double>(at - below->first) / static_cast<double>(above->first - below->first);
  return below->second + share * (above->second - below->second);
}

/// Matrix products by (n, k): milliseconds by tokens.
class Products {
 public:
  explicit Products(const std::string& path) {
    for (const CsvRow& row : read_csv(path)) {
      curves_[{std::stoi(row.at("n")), std::stoi(row.at("k"))}][std::stoi(row.at("tokens"))] =
          std::stod(row.at("latency_ms"));
    }
  }

  [[nodiscard]] double milliseconds(int tokens, int n, int k) const {
    const auto distance = [n, k](const auto& curve) {
      return std::abs(std::log(static_cast<double>(curve.first.first) / n)) +
             std::abs(std::log(static_cast<double>(curve.first.second) / k));
    };
    const auto nearest = std::min_element(curves_.begin(), curves_.end(), [&](const auto& a, const auto& b) {
      return distance(a) < distance(b);
    });
    const double flops = static_cast<double>(n) * k;
    const double measured = static_cast<double>(nearest->first.first) * nearest->first.second;
    return interpolate(nearest->second, tokens) * flops / measured;
  }

 private:
  std::map<std::pair<int, int>, std::map<int, double>> curves_;
};

std::set<std::int64_t> lengths(const OutsideSeries& series) {
  std::set<std::int64_t> out;
  for (const PrefillSample& s : series.samples) out.insert(s.fresh.value());
  return out;
}

/// Calls visit(sample, fit without its shape) for every sample that may be held out.
template <class Visit>
void hold_out(const OutsideSeries& series, bool inside, Visit visit) {
  const std::set<std::int64_t> all = lengths(series);
  for (const std::int64_t length : all) {
    if (inside && (length == *all.begin() || length == *all.rbegin())) continue;
    std::vector<PrefillSample> rest;
    for (const PrefillSample& s : series.samples) {
      if (s.fresh.value() != length) rest.push_back(s);
    }
    const Result<PrefillCost> fit = fit_prefill(rest, kOptions);
    if (fit.has_error()) continue;
    for (const PrefillSample& s : series.samples) {
      if (s.fresh.value() == length) visit(s, *fit);
    }
  }
}

double relative_error(Seconds predicted, Seconds measured) {
  return std::abs(predicted / measured - 1);
}

}  // namespace

std::vector<OutsideSeries> ucm_series(const std::string& data) {
  std::map<std::string, OutsideSeries> series;
  for (const CsvRow& row : read_csv(data + "/ucm/ttft_full_vs_hit80.csv")) {
    if (row.at("concurrency") != "1") continue;
    OutsideSeries& one = series[row.at("model") + ", " + row.at("hardware")];
    one.data_set = "UCM documentation";
    one.name = row.at("model") + ", " + row.at("hardware");
    one.samples.push_back({Tokens(std::stoll(row.at("input_tokens"))), Tokens(0),
                           Seconds(std::stod(row.at("full_compute_s")))});
  }
  std::vector<OutsideSeries> out;
  out.reserve(series.size());
  for (auto& [name, one] : series) out.push_back(std::move(one));
  return out;
}

OutsideSeries kernel_series(const std::string& data) {
  const Products products(data + "/aiconfigurator/h200_gemm.csv");
  OutsideSeries series{"aiconfigurator kernels", "Llama-3.1-8B, H200", {}, "facts--Llama-3.1-8B", "H200"};
  for (const CsvRow& row : read_csv(data + "/aiconfigurator/h200_attention.csv")) {
    const int tokens = std::stoi(row.at("tokens"));
    const double layer = std::stod(row.at("latency_ms")) + products.milliseconds(tokens, 6144, 4096) +
                         products.milliseconds(tokens, 4096, 4096) +
                         products.milliseconds(tokens, 28672, 4096) +
                         products.milliseconds(tokens, 4096, 14336);
    const double head = products.milliseconds(64, 128256, 4096);
    series.samples.push_back({Tokens(tokens), Tokens(0), Seconds((32 * layer + head) * 1e-3)});
  }
  return series;
}

std::vector<OutsideSeries> h200_series() {
  const auto at = [](std::int64_t ki, double seconds) {
    return PrefillSample{Tokens(ki * 1024), Tokens(0), Seconds(seconds)};
  };
  return {{"one H200, PyTorch",
           "Llama-3.1-8B, H200",
           {at(4, 0.120), at(32, 1.36), at(64, 3.65)},
           "facts--Llama-3.1-8B",
           "H200"},
          {"one H200, PyTorch",
           "Llama-3.2-3B, H200",
           {at(4, 0.059), at(32, 0.72), at(64, 2.04)},
           "facts--Llama-3.2-3B",
           "H200"}};
}

RelativeErrors summary(std::vector<double> errors) {
  if (errors.empty()) return {};
  RelativeErrors out;
  out.points = static_cast<int>(errors.size());
  out.worst = *std::max_element(errors.begin(), errors.end());
  out.median = sample_quantile(errors, 0.5);
  out.p95 = sample_quantile(std::move(errors), 0.95);
  return out;
}

std::vector<double> fit_errors(const OutsideSeries& series) {
  std::vector<double> errors;
  const Result<PrefillCost> fit = fit_prefill(series.samples, kOptions);
  if (fit.has_error()) return errors;
  for (const PrefillSample& s : series.samples)
    errors.push_back(relative_error(fit->time(s.fresh, s.cached), s.time));
  return errors;
}

std::vector<double> held_out_errors(const OutsideSeries& series, bool inside) {
  std::vector<double> errors;
  hold_out(series, inside, [&](const PrefillSample& s, const PrefillCost& fit) {
    errors.push_back(relative_error(fit.time(s.fresh, s.cached), s.time));
  });
  return errors;
}

std::pair<int, int> held_out_coverage(const OutsideSeries& series) {
  int held = 0;
  int asked = 0;
  hold_out(series, false, [&](const PrefillSample& s, const PrefillCost& fit) {
    ++asked;
    if (fit.predict(s.fresh, s.cached).contains(s.time)) ++held;
  });
  return {held, asked};
}

std::vector<DatasheetError> datasheet_errors(const OutsideSeries& series, const std::string& data) {
  std::vector<DatasheetError> errors;
  if (series.gpu.empty()) return errors;
  const auto gpu = find_gpu(series.gpu);
  const auto shape = ModelShape::from_file(data + "/model_configs/" + series.model_config + "_config.json");
  if (gpu.has_error() || shape.has_error()) return errors;
  const auto cost = prefill_from_datasheet(*shape, *gpu);
  if (cost.has_error()) return errors;
  for (const PrefillSample& s : series.samples) {
    errors.push_back({relative_error(cost->time(s.fresh, s.cached), s.time),
                      cost->predict(s.fresh, s.cached).contains(s.time)});
  }
  return errors;
}

}  // namespace fulcrum::test
