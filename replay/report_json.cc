#include <nlohmann/json.hpp>
#include <string>

#include "replay/report.h"

namespace fulcrum::replay {
namespace {

using Json = nlohmann::ordered_json;

Json options_json(const SimulationOptions& options) {
  Json json;
  json["replicas"] = options.replicas;
  json["router"] = to_string(options.router);
  json["shared"] = options.shared;
  json["gpu_cache_tokens"] = options.gpu_cache.value();
  json["decode_share"] = options.decode_share;
  json["gpu_scale"] = options.gpu_scale;
  json["gpu_noise"] = options.gpu_noise;
  json["seed"] = options.seed;
  return json;
}

Json policy_json(const PolicyReport& report) {
  Json json;
  json["name"] = report.name;
  json["ttft_s"] = {{"mean", report.ttft_s.mean},
                    {"p50", report.ttft_s.p50},
                    {"p95", report.ttft_s.p95},
                    {"p99", report.ttft_s.p99}};
  json["gpu_seconds"] = report.gpu_seconds;
  json["gpu_seconds_saved"] = report.gpu_seconds_saved;
  json["resident_share"] = report.resident_share;
  json["loaded_share"] = report.loaded_share;
  json["loads"] = report.loads;
  json["harmful_reads"] = report.harmful_reads;
  json["harmful_share"] = report.harmful_share();
  json["given_up"] = report.given_up;
  json["harm_p999"] = report.harm_p999;
  json["end_s"] = report.end_s;
  json["bytes_read"] = Json::object();
  json["bytes_written"] = Json::object();
  for (const TierTotals& tier : report.tiers) {
    json["bytes_read"][tier.name] = tier.read.value();
    json["bytes_written"][tier.name] = tier.written.value();
  }
  return json;
}

}  // namespace

std::string report_json(const ReportHead& head, std::span<const PolicyReport> policies) {
  Json json;
  json["schema"] = 1;
  json["trace"] = {{"name", head.trace},
                   {"requests", head.requests},
                   {"skipped_lines", head.skipped_lines},
                   {"prompt_tokens", head.prompt_tokens},
                   {"block_tokens", head.block_tokens}};
  json["profile"] = head.profile;
  json["options"] = options_json(head.options);
  json["policies"] = Json::array();
  for (const PolicyReport& report : policies) json["policies"].push_back(policy_json(report));
  return json.dump(2);
}

}  // namespace fulcrum::replay
