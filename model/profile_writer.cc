#include <span>
#include <string>
#include <type_traits>

#include "base/document.h"
#include "model/profile_text.h"

namespace fulcrum {
namespace {

std::string text_of(double value) {
  return format_exact(value);
}
std::string text_of(std::int64_t value) {
  return std::to_string(value);
}
template <class Tag, class Rep>
std::string text_of(Quantity<Tag, Rep> value) {
  return text_of(value.value());
}

template <class T>
std::string flow(const Measured<T>& measured) {
  return "{value: " + text_of(measured.value) + ", low: " + text_of(measured.low) +
         ", high: " + text_of(measured.high) + ", samples: " + std::to_string(measured.samples) +
         ", verdict: " + std::string(to_string(measured.verdict)) + "}";
}

std::string flow(std::span<const double> numbers) {
  std::string out = "[";
  for (const double number : numbers) out += (out.size() == 1 ? "" : ", ") + format_exact(number);
  return out + "]";
}

/// Lines of "key: value" at one depth.
class Lines {
 public:
  explicit Lines(std::string indent) : indent_(std::move(indent)) {}

  void add(std::string_view key, const std::string& value) {
    out_ += indent_ + std::string(key) + ":" + (value.empty() ? "" : " " + value) + "\n";
  }
  void add_text(std::string_view key, std::string_view value) { add(key, yaml_quote(value)); }
  template <class T>
  void add_number(std::string_view key, T value) {
    if constexpr (std::is_same_v<T, int>) {
      add(key, std::to_string(value));
    } else {
      add(key, text_of(value));
    }
  }
  template <class T>
  void add_measured(std::string_view key, const Measured<T>& value) {
    add(key, flow(value));
  }

  /// A list under `key`; `items` are already one line each.
  void add_list(std::string_view key, const std::vector<std::string>& items) {
    add(key, items.empty() ? "[]" : "");
    for (const std::string& item : items) out_ += indent_ + "  - " + item + "\n";
  }

  [[nodiscard]] const std::string& text() const { return out_; }

 private:
  std::string indent_;
  std::string out_;
};

std::vector<std::string> quoted(const std::vector<std::string>& sentences) {
  std::vector<std::string> out;
  out.reserve(sentences.size());
  for (const std::string& sentence : sentences) out.push_back(yaml_quote(sentence));
  return out;
}

std::vector<std::string> surface(const std::vector<SurfacePoint>& points) {
  std::vector<std::string> out;
  out.reserve(points.size());
  for (const SurfacePoint& point : points) {
    out.push_back("{io_size_B: " + text_of(point.io_size) + ", depth: " + std::to_string(point.depth) +
                  ", loads: " + std::to_string(point.loads) + ", rate_Bps: " + flow(point.rate) +
                  ", latency_p50_s: " + text_of(point.latency_p50) +
                  ", latency_p99_s: " + text_of(point.latency_p99) + "}");
  }
  return out;
}

std::string device_lines(const DeviceIdentity& device) {
  Lines lines("      ");
  lines.add_text("path", device.path);
  lines.add_text("filesystem", device.filesystem);
  lines.add_text("device", device.device);
  lines.add_text("model", device.model);
  lines.add_text("serial_hash", device.serial_hash);
  lines.add_text("scheduler", device.scheduler);
  if (!device.firmware.empty()) lines.add_text("firmware", device.firmware);
  if (device.pcie != PcieLink{}) {
    lines.add("pcie", "{lanes: " + std::to_string(device.pcie.lanes) +
                          ", lanes_most: " + std::to_string(device.pcie.lanes_most) +
                          ", lane_GTps: " + text_of(device.pcie.transfers) +
                          ", lane_most_GTps: " + text_of(device.pcie.transfers_most) + "}");
  }
  if (device.numa_node) lines.add_number("numa_node", *device.numa_node);
  return "    device:\n" + lines.text();
}

std::string ramp_lines(const Sustained& ramp) {
  Lines lines("      ");
  lines.add_measured("burst_Bps", ramp.burst);
  lines.add_measured("sustained_Bps", ramp.sustained);
  lines.add_number("burst_B", ramp.burst_bytes);
  if (ramp.recovery) {
    lines.add("recovery",
              "{burst_B: " + text_of(ramp.recovery->burst) + ", rest_s: " + flow(ramp.recovery->rest) + "}");
  }
  return "    ramp:\n" + lines.text();
}

std::string heat_text(const Heat& heat) {
  return "{before_C: " + text_of(heat.before) + ", hottest_C: " + text_of(heat.hottest) +
         ", after_C: " + text_of(heat.after) + (heat.limit ? ", limit_C: " + text_of(*heat.limit) : "") + "}";
}

std::string tier_lines(const TierProfile& tier) {
  Lines head("    ");
  head.add("medium", std::string(to_string(tier.medium)));
  head.add("verdict", std::string(to_string(tier.verdict)));
  Lines numbers("    ");
  numbers.add("io", std::string("{uring: ") + (tier.io.uring ? "true" : "false") +
                        ", direct: " + (tier.io.direct ? "true" : "false") + "}");
  numbers.add_number("space_B", tier.space);
  numbers.add_number("io_size_B", tier.io_size);
  numbers.add_number("depth", tier.depth);
  numbers.add_measured("setup_s", tier.setup);
  numbers.add_measured("read_Bps", tier.read);
  numbers.add_measured("sigma", tier.sigma);
  numbers.add_measured("k", tier.k);
  numbers.add_measured("write_Bps", tier.write);
  numbers.add_measured("commit_half_B", tier.commit_half);
  numbers.add_measured("read_during_writes", tier.read_during_writes);
  if (tier.far_node_penalty) numbers.add_measured("far_node_penalty", *tier.far_node_penalty);
  if (tier.heat) numbers.add("heat", heat_text(*tier.heat));
  Lines tail("    ");
  tail.add_list("reads", surface(tier.reads));
  tail.add_list("writes", surface(tier.writes));
  tail.add_list("findings", quoted(tier.findings));
  return "  - name: " + yaml_quote(tier.name) + "\n" + head.text() + device_lines(tier.device) +
         numbers.text() + (tier.ramp ? ramp_lines(*tier.ramp) : "") + tail.text();
}

std::string prefill_lines(const PrefillProfile& prefill) {
  const PrefillCost& cost = prefill.cost;
  Lines lines("  ");
  lines.add("source", std::string(to_string(prefill.source)));
  lines.add_text("gpu", prefill.gpu);
  lines.add_text("model", prefill.model);
  lines.add_number("kv_bytes_per_token", prefill.kv_bytes_per_token);
  lines.add_number("kv_bytes_fixed_B", prefill.kv_bytes_fixed);
  lines.add_number("samples", prefill.samples);
  lines.add("verdict", std::string(to_string(cost.verdict)));
  lines.add("theta", flow(cost.law.theta));
  lines.add_number("chunk_tokens", cost.law.chunk_tokens);
  lines.add_number("knee_tokens", cost.law.knee_tokens);
  lines.add_number("tile_tokens", cost.law.tile_tokens);
  lines.add_number("residual", cost.residual);
  lines.add_number("domain_tokens", cost.domain);
  std::vector<std::string> draws;
  draws.reserve(cost.draws.size());
  for (const auto& draw : cost.draws) draws.push_back(flow(draw));
  lines.add_list("draws", draws);
  return "prefill:\n" + lines.text();
}

std::string provenance_lines(const Provenance& provenance) {
  Lines lines("  ");
  lines.add_text("tool_version", provenance.tool_version);
  lines.add_text("command", provenance.command);
  lines.add_text("created_utc", provenance.created_utc);
  lines.add("seed", "\"" + std::to_string(provenance.seed) + "\"");  // may exceed a signed integer
  lines.add_text("mode", provenance.mode);
  lines.add_text("kernel", provenance.kernel);
  lines.add_text("cpu", provenance.cpu);
  lines.add_number("cores", provenance.cores);
  lines.add_number("memory_B", provenance.memory);
  return "provenance:\n" + lines.text();
}

}  // namespace

std::string profile_body(const MachineProfile& profile) {
  std::string out = provenance_lines(profile.provenance);
  Lines findings("");
  findings.add_list("findings", quoted(profile.findings));
  out += findings.text();
  out += profile.tiers.empty() ? "tiers: []\n" : "tiers:\n";
  for (const TierProfile& tier : profile.tiers) out += tier_lines(tier);
  if (profile.prefill) out += prefill_lines(*profile.prefill);
  return out;
}

}  // namespace fulcrum
