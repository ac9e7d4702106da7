#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "model/profile_text.h"

namespace fulcrum {
namespace {

constexpr auto kVerdicts = std::to_array<std::string_view>(
    {"good", "noisy", "cpu_bound", "throttled", "estimated", "cached", "invalid"});
constexpr auto kMedia = std::to_array<std::string_view>({"dram", "flash", "hdd", "pool"});
constexpr auto kSources = std::to_array<std::string_view>({"none", "csv", "server", "datasheet", "probe"});
constexpr int kMostInt = std::numeric_limits<int>::max();
constexpr Range<double> kCelsius = {-60, 200};
constexpr double kMostShare = 2;  // reads beside writes can measure a little faster than idle, not twice

static_assert(static_cast<std::size_t>(Verdict::invalid) + 1 == kVerdicts.size());
static_assert(static_cast<std::size_t>(Medium::pool) + 1 == kMedia.size());
static_assert(static_cast<std::size_t>(PrefillSource::probe) + 1 == kSources.size());

int small_integer(MapReader& reader, std::string_view key, int low) {
  return static_cast<int>(reader.integer(key, {low, kMostInt}));
}

Verdict verdict(MapReader& reader) {
  return static_cast<Verdict>(reader.choice("verdict", kVerdicts));
}

Bytes plain_bytes(MapReader& reader, std::string_view key) {
  return Bytes(reader.integer(key, {.low = 0}));
}
Seconds plain_seconds(MapReader& reader, std::string_view key) {
  return Seconds(reader.number(key, {.low = 0}));
}

double read_raw(MapReader& reader, std::string_view key, double high) {
  return reader.number(key, {0, high});
}
std::int64_t read_raw(MapReader& reader, std::string_view key, std::int64_t high) {
  return reader.integer(key, {0, high});
}

template <class T>
struct RawOf {
  using type = T;
};
template <class Tag, class Rep>
struct RawOf<Quantity<Tag, Rep>> {
  using type = Rep;
};

template <class T>
Measured<T> measured(MapReader& parent, std::string_view key,
                     typename RawOf<T>::type most = std::numeric_limits<typename RawOf<T>::type>::max()) {
  MapReader reader = parent.map(key);
  Measured<T> out;
  out.value = T(read_raw(reader, "value", most));
  out.low = T(read_raw(reader, "low", most));
  out.high = T(read_raw(reader, "high", most));
  out.samples = small_integer(reader, "samples", 0);
  out.verdict = verdict(reader);
  if (out.low > out.high) reader.problem("low", "is above 'high'");
  reader.finish();
  return out;
}

Measured<BytesPerSecond> measured_rate(MapReader& parent, std::string_view key) {
  auto rate = measured<BytesPerSecond>(parent, key);
  if (rate.verdict != Verdict::invalid && !(rate.low > BytesPerSecond(0))) {
    parent.problem(key, "must be above 0 unless its verdict is invalid");
  }
  return rate;
}

/// What may be missing: not known, or not measured.
template <class Read>
auto optional_map(MapReader& parent, std::string_view key, Read read) {
  parent.ignore(key);
  return parent.has(key) ? std::optional(read(parent.map(key))) : std::nullopt;
}

PcieLink pcie_link(MapReader reader) {
  PcieLink out;
  out.lanes = small_integer(reader, "lanes", 0);
  out.lanes_most = small_integer(reader, "lanes_most", 0);
  out.transfers = reader.number("lane_GTps", {.low = 0});
  out.transfers_most = reader.number("lane_most_GTps", {.low = 0});
  reader.finish();
  return out;
}

DeviceIdentity device(MapReader reader) {
  DeviceIdentity out;
  out.path = reader.text("path");
  out.filesystem = reader.text("filesystem");
  out.device = reader.text("device");
  out.model = reader.text("model");
  out.serial_hash = reader.text("serial_hash");
  out.scheduler = reader.text("scheduler");
  out.firmware = reader.text_or("firmware", "");
  out.pcie = optional_map(reader, "pcie", pcie_link).value_or(PcieLink());
  reader.ignore("numa_node");
  if (reader.has("numa_node")) out.numa_node = small_integer(reader, "numa_node", 0);
  reader.finish();
  return out;
}

IoMode io_mode(MapReader reader) {
  IoMode out;
  out.uring = reader.boolean("uring");
  out.direct = reader.boolean("direct");
  reader.finish();
  return out;
}

Recovery recovery(MapReader reader) {
  Recovery out;
  out.burst = plain_bytes(reader, "burst_B");
  out.rest = measured<Seconds>(reader, "rest_s");
  reader.finish();
  return out;
}

Sustained ramp(MapReader reader) {
  Sustained out;
  out.burst = measured_rate(reader, "burst_Bps");
  out.sustained = measured_rate(reader, "sustained_Bps");
  out.burst_bytes = plain_bytes(reader, "burst_B");
  out.recovery = optional_map(reader, "recovery", recovery);
  reader.finish();
  return out;
}

Heat heat(MapReader reader) {
  Heat out;
  out.before = reader.number("before_C", kCelsius);
  out.hottest = reader.number("hottest_C", kCelsius);
  out.after = reader.number("after_C", kCelsius);
  reader.ignore("limit_C");
  if (reader.has("limit_C")) out.limit = reader.number("limit_C", kCelsius);
  reader.finish();
  return out;
}

std::vector<SurfacePoint> surface(MapReader& tier, std::string_view key) {
  std::vector<SurfacePoint> out;
  for (MapReader& reader : tier.maps(key)) {
    SurfacePoint point;
    point.io_size = plain_bytes(reader, "io_size_B");
    point.depth = small_integer(reader, "depth", 1);
    point.loads = small_integer(reader, "loads", 1);
    point.rate = measured_rate(reader, "rate_Bps");
    point.latency_p50 = plain_seconds(reader, "latency_p50_s");
    point.latency_p99 = plain_seconds(reader, "latency_p99_s");
    reader.finish();
    out.push_back(point);
  }
  return out;
}

TierProfile tier_profile(MapReader& reader) {
  TierProfile out;
  out.name = reader.text("name");
  if (out.name.empty() && reader.has("name")) reader.problem("name", "must not be empty");
  out.medium = static_cast<Medium>(reader.choice("medium", kMedia));
  out.verdict = verdict(reader);
  out.device = device(reader.map("device"));
  out.io = io_mode(reader.map("io"));
  out.space = plain_bytes(reader, "space_B");
  out.io_size = plain_bytes(reader, "io_size_B");
  out.depth = small_integer(reader, "depth", 1);
  out.setup = measured<Seconds>(reader, "setup_s");
  out.read = measured_rate(reader, "read_Bps");
  out.sigma = measured<double>(reader, "sigma", 1);
  out.k = measured<double>(reader, "k");
  out.write = measured_rate(reader, "write_Bps");
  out.commit_half = measured<Bytes>(reader, "commit_half_B");
  out.read_during_writes = measured<double>(reader, "read_during_writes", kMostShare);
  reader.ignore("far_node_penalty");
  if (reader.has("far_node_penalty")) out.far_node_penalty = measured<double>(reader, "far_node_penalty");
  out.heat = optional_map(reader, "heat", heat);
  out.ramp = optional_map(reader, "ramp", ramp);
  out.reads = surface(reader, "reads");
  out.writes = surface(reader, "writes");
  out.findings = reader.texts("findings");
  reader.finish();
  return out;
}

using Theta = std::array<double, PrefillLaw::kTerms>;

Theta theta(MapReader& reader, std::string_view key, const std::vector<double>& numbers) {
  Theta out{};
  if (numbers.size() != out.size()) {
    reader.problem(
        key, "wants " + std::to_string(out.size()) + " numbers a row, got " + std::to_string(numbers.size()));
    return out;
  }
  std::ranges::copy(numbers, out.begin());
  if (std::ranges::any_of(out, [](double x) { return x < 0; })) reader.problem(key, "must not be negative");
  return out;
}

PrefillProfile prefill_profile(MapReader reader) {
  PrefillProfile out;
  out.source = static_cast<PrefillSource>(reader.choice("source", kSources));
  out.gpu = reader.text("gpu");
  out.model = reader.text("model");
  out.kv_bytes_per_token = BytesPerToken(reader.number("kv_bytes_per_token", {.low = 0}));
  out.kv_bytes_fixed = plain_bytes(reader, "kv_bytes_fixed_B");
  out.samples = small_integer(reader, "samples", 0);
  out.cost.verdict = verdict(reader);
  if (reader.has("theta")) out.cost.law.theta = theta(reader, "theta", reader.numbers("theta"));
  out.cost.law.chunk_tokens = reader.integer("chunk_tokens", {.low = 0});
  out.cost.law.knee_tokens = reader.integer("knee_tokens", {.low = 0});
  out.cost.law.tile_tokens = reader.integer("tile_tokens", {.low = 1});
  out.cost.residual = reader.number("residual", {.low = 0});
  out.cost.domain = Tokens(reader.integer("domain_tokens", {.low = 0}));
  for (const std::vector<double>& row : reader.number_rows("draws")) {
    out.cost.draws.push_back(theta(reader, "draws", row));
  }
  reader.finish();
  return out;
}

std::uint64_t seed(MapReader& reader) {
  const std::string text = reader.text("seed");
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = code == std::errc() && end == text.data() + text.size();
  if (!whole && reader.has("seed")) reader.problem("seed", "wants a whole number in quotes");
  return value;
}

Provenance provenance(MapReader reader) {
  Provenance out;
  out.tool_version = reader.text("tool_version");
  out.command = reader.text("command");
  out.created_utc = reader.text("created_utc");
  out.seed = seed(reader);
  out.mode = reader.text("mode");
  out.kernel = reader.text("kernel");
  out.cpu = reader.text("cpu");
  out.cores = small_integer(reader, "cores", 0);
  out.memory = plain_bytes(reader, "memory_B");
  reader.finish();
  return out;
}

}  // namespace

MachineProfile read_profile_body(MapReader& root) {
  MachineProfile out;
  out.provenance = provenance(root.map("provenance"));
  out.findings = root.texts("findings");
  for (MapReader& reader : root.maps("tiers")) {
    TierProfile tier = tier_profile(reader);
    if (!tier.name.empty() && out.tier(tier.name) != nullptr) {
      reader.problem("name", "names a second tier '" + tier.name + "'");
    }
    out.tiers.push_back(std::move(tier));
  }
  if (root.has("prefill")) out.prefill = prefill_profile(root.map("prefill"));
  root.ignore("prefill");
  root.finish();
  return out;
}

}  // namespace fulcrum
