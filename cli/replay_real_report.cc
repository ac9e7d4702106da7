#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "base/document.h"
#include "cli/output.h"
#include "cli/replay_real.h"

namespace fulcrum::cli {
namespace {

Seconds quantile(std::vector<Seconds> values, double at) {
  if (values.empty()) return Seconds(0);
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(at * static_cast<double>(values.size() - 1))];
}

Seconds mean(const std::vector<Seconds>& values) {
  Seconds sum{0};
  for (const Seconds value : values) sum += value;
  return values.empty() ? sum : sum / static_cast<double>(values.size());
}

/// How the loads that were measured compare with what was predicted.
struct Comparison {
  double inside = 0;        ///< share within [fast, slow]
  double not_slower = 0;    ///< share not above slow, which is what decisions rest on
  double median_ratio = 0;  ///< measured over typical
};

Comparison compare(const std::vector<MeasuredLoad>& loads) {
  Comparison result;
  if (loads.empty()) return result;
  std::vector<double> ratios;
  for (const MeasuredLoad& load : loads) {
    if (load.measured <= load.slow) result.not_slower += 1;
    if (load.measured <= load.slow && load.measured >= load.fast) result.inside += 1;
    ratios.push_back(load.measured / load.typical);
  }
  const auto count = static_cast<double>(loads.size());
  std::ranges::nth_element(ratios, ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2));
  return {result.inside / count, result.not_slower / count, ratios[ratios.size() / 2]};
}

std::string whole(std::uint64_t count) {
  return format(Tokens(static_cast<std::int64_t>(count)));
}

std::string percent(double share) {
  return number(share * 100) + " %";
}

}  // namespace

void print_real(std::ostream& out, const RealReport& report) {
  out << whole(report.requests) << " requests in " << format(report.elapsed) << ", rows of "
      << format(report.row_bytes);
  if (report.kv_share > 1) out << " (one in " << report.kv_share << " of the model's KV bytes)";
  const double hit = report.prompt_blocks == 0 ? 0
                                               : static_cast<double>(report.loaded_blocks) /
                                                     static_cast<double>(report.prompt_blocks);
  out << "\nblocks: " << whole(report.prompt_blocks) << " asked for, " << whole(report.loaded_blocks)
      << " loaded and checked (" << percent(hit) << "), " << whole(report.stored_blocks) << " stored\n"
      << "loads: " << whole(report.status.loads_complete) << " complete, "
      << whole(report.status.loads_stopped) << " stopped\n"
      << "wrong bytes: " << (report.wrong ? "YES" : "none") << "\n\n";
  Table times({"TTFT without queueing", "mean", "p50", "p95", "p99"});
  const auto add = [&](const char* name, const std::vector<Seconds>& values) {
    times.add({name, format(mean(values)), format(quantile(values, 0.5)), format(quantile(values, 0.95)),
               format(quantile(values, 0.99))});
  };
  add("as served", report.ttft);
  add("recompute all", report.ttft_recompute);
  times.print(out);
  const Comparison compared = compare(report.loads);
  out << "\nloads from one tier of files: " << whole(report.loads.size());
  if (!report.loads.empty()) {
    out << "; " << percent(compared.inside) << " within the predicted interval, "
        << percent(compared.not_slower) << " not slower than decided with, measured/predicted median "
        << number(compared.median_ratio);
  }
  out << "\n\n";
  Table tiers(
      {"tier", "health", "blocks", "read", "written", "lost", "corrupt", "written/stored", "slowdown"});
  for (const EngineTier& tier : report.status.tiers) {
    const double stored =
        static_cast<double>(tier.blocks_written) * static_cast<double>(report.row_bytes.value());
    const bool files = tier.medium_written > Bytes(0) && stored > 0;
    tiers.add({tier.name, tier.health, whole(tier.blocks), whole(tier.blocks_read),
               whole(tier.blocks_written), whole(tier.blocks_lost), whole(tier.corrupt),
               files ? number(static_cast<double>(tier.medium_written.value()) / stored) : "-",
               number(tier.slowdown)});
  }
  tiers.print(out);
  for (const EngineTier& tier : report.status.tiers) {
    out << tier.name << ": " << tier.io << (tier.reason.empty() ? "" : "; " + tier.reason) << '\n';
  }
  for (const std::string& alarm : report.status.alarms) out << alarm << '\n';
}

std::string real_json(const RealReport& report) {
  using Json = nlohmann::ordered_json;
  const auto times = [](const std::vector<Seconds>& values) {
    return Json{{"mean", mean(values).value()},
                {"p50", quantile(values, 0.5).value()},
                {"p95", quantile(values, 0.95).value()},
                {"p99", quantile(values, 0.99).value()}};
  };
  const Comparison compared = compare(report.loads);
  Json json;
  json["schema"] = 1;
  json["requests"] = report.requests;
  json["elapsed_s"] = report.elapsed.value();
  json["kv_share"] = report.kv_share;
  json["row_bytes"] = report.row_bytes.value();
  json["blocks"] = {
      {"asked", report.prompt_blocks}, {"loaded", report.loaded_blocks}, {"stored", report.stored_blocks}};
  json["stores_refused"] = report.refused_stores;
  json["wrong_bytes"] = report.wrong.has_value();
  json["ttft_s"] = times(report.ttft);
  json["ttft_recompute_s"] = times(report.ttft_recompute);
  json["loads"] = {{"measured", report.loads.size()},
                   {"inside_interval", compared.inside},
                   {"not_slower", compared.not_slower},
                   {"median_ratio", compared.median_ratio}};
  json["tiers"] = Json::array();
  for (const EngineTier& tier : report.status.tiers) {
    json["tiers"].push_back({{"name", tier.name},
                             {"health", tier.health},
                             {"io", tier.io},
                             {"blocks", tier.blocks},
                             {"blocks_read", tier.blocks_read},
                             {"blocks_written", tier.blocks_written},
                             {"blocks_lost", tier.blocks_lost},
                             {"corrupt", tier.corrupt},
                             {"medium_read_B", tier.medium_read.value()},
                             {"medium_written_B", tier.medium_written.value()},
                             {"slowdown", tier.slowdown}});
  }
  json["closed_clean"] = report.closed_clean;
  return json.dump(2) + "\n";
}

}  // namespace fulcrum::cli
