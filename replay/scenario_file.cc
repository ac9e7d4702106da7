#include "replay/scenario_file.h"

#include <array>
#include <cmath>
#include <utility>

#include "base/atomic_file.h"
#include "base/document.h"
#include "replay/trace.h"

namespace fulcrum::replay {
namespace {

constexpr std::int64_t kLongest = 1 << 24;  ///< tokens; longer than any context in use

PrefillProfile read_prefill(MapReader reader, const std::string& model, BytesPerToken kappa) {
  PrefillProfile prefill;
  prefill.source = PrefillSource::datasheet;
  prefill.model = model;
  prefill.gpu = reader.text("gpu");
  prefill.kv_bytes_per_token = kappa;
  PrefillCost& cost = prefill.cost;
  cost.law.theta[0] = reader.seconds_or("per_request", Seconds(0)).value();
  cost.law.theta[2] = reader.number("alpha_us_per_token", {1e-6, 1e6}) * 1e-6;
  cost.law.theta[3] = reader.number("beta_ns_per_token2", {0, 1e6}) * 1e-9;
  cost.domain = Tokens(kLongest);
  cost.verdict = Verdict::estimated;
  cost.draws.assign(1, cost.law.theta);
  reader.finish();
  return prefill;
}

TierProfile read_tier(MapReader& reader) {
  static constexpr std::array<std::string_view, 4> kMedia = {"dram", "flash", "hdd", "pool"};
  TierProfile tier;
  tier.name = reader.text("name");
  tier.medium = static_cast<Medium>(reader.choice("medium", kMedia));
  tier.setup = Measured<Seconds>::exact(reader.seconds("setup"), Verdict::good);
  tier.read = Measured<BytesPerSecond>::exact(reader.rate("read", {1}), Verdict::good);
  tier.sigma = Measured<double>::exact(reader.number_or("sigma", 0, {0, 1}), Verdict::good);
  tier.k = Measured<double>::exact(reader.number_or("k", 0, {0, 1e3}), Verdict::good);
  tier.write = Measured<BytesPerSecond>::exact(reader.rate("write", {1}), Verdict::good);
  tier.commit_half = Measured<Bytes>::exact(Bytes(0), Verdict::good);
  tier.read_during_writes = Measured<double>::exact(1, Verdict::good);
  tier.io_size = 1_MiB;
  tier.depth = 1;
  tier.verdict = Verdict::good;
  return tier;
}

SharedPoolSetup read_shared_pool(MapReader reader) {
  SharedPoolSetup setup;
  setup.replicas = static_cast<int>(reader.integer("replicas", {1, 64}));
  setup.documents = static_cast<int>(reader.integer("documents", {1, 10000}));
  setup.document = Tokens(reader.integer("document_tokens", {1, kLongest}));
  setup.gpu_cache = Tokens(reader.integer("gpu_cache_tokens", {0, kLongest}));
  setup.in_flight = static_cast<int>(reader.integer("in_flight", {1, 10000}));
  for (const double burst : reader.numbers("bursts")) {
    if (!(burst >= 1 && burst <= setup.documents) || burst != std::floor(burst)) {
      reader.problem("bursts", "a burst is a whole number from 1 to the number of documents");
      continue;
    }
    setup.bursts.push_back(static_cast<int>(burst));
  }
  reader.finish();
  return setup;
}

BreakEvenSetup read_break_even(MapReader reader) {
  BreakEvenSetup setup;
  setup.longest = Tokens(reader.integer("longest_tokens", {1, kLongest}));
  setup.what_if_setup = reader.seconds("what_if_setup");
  setup.burst = static_cast<int>(reader.integer("burst", {1, 1000}));
  setup.burst_prefix = Tokens(reader.integer("burst_prefix_tokens", {1, kLongest}));
  reader.finish();
  return setup;
}

ScenarioFigure read_figure(MapReader reader) {
  static constexpr std::array<std::string_view, 3> kRoles = {"input", "fitted", "predicted"};
  ScenarioFigure figure;
  figure.quantity = reader.text("quantity");
  figure.published = reader.number("value");
  figure.unit = reader.text("unit");
  figure.role = static_cast<FigureRole>(reader.choice("role", kRoles));
  figure.note = reader.text_or("note", {});
  reader.finish();
  return figure;
}

void read_machine(MapReader& root, ScenarioFile& file) {
  MapReader model = root.map("model");
  const std::string name = model.text("name");
  const BytesPerToken kappa(model.number("kv_bytes_per_token", {1, 1e9}));
  file.block = Tokens(model.integer("block_tokens", {1, 65536}));
  model.finish();
  file.machine.prefill = read_prefill(root.map("prefill"), name, kappa);
  for (MapReader& tier : root.maps("tiers")) {
    file.machine.tiers.push_back(read_tier(tier));
    file.capacities.push_back(tier.bytes("capacity", {1}));
    tier.finish();
  }
  if (file.machine.tiers.empty()) root.problem("tiers", "a scenario needs a tier");
}

}  // namespace

Result<ScenarioFile> read_scenario(const std::string& path) {
  static constexpr std::array<std::string_view, 2> kKinds = {"shared_pool", "break_even"};
  auto text = read_file(path);
  if (!text) return text.error();
  auto document = Document::parse_yaml(*text, path);
  if (!document) return document.error();
  Problems problems(path);
  MapReader root(document->root(), problems);
  ScenarioFile file;
  (void)root.integer("version", {1, 1});
  file.kind = static_cast<ScenarioKind>(root.choice("kind", kKinds));
  file.name = root.text("name");
  file.source = root.text("source");
  if (root.has("remarks")) file.remarks = root.texts("remarks");
  read_machine(root, file);
  if (file.kind == ScenarioKind::shared_pool) {
    file.pool = read_shared_pool(root.map("shared_pool"));
  } else {
    file.break_even = read_break_even(root.map("break_even"));
  }
  for (MapReader& figure : root.maps("published")) file.published.push_back(read_figure(figure));
  root.finish();
  if (!problems.empty()) return problems.error("read scenario");
  return file;
}

PolicyConfig ScenarioFile::policy(Strategy strategy, std::size_t tier) const {
  PolicyConfig policy;
  policy.strategy = strategy;
  policy.block_tokens = block;
  TierPolicy own;
  own.name = machine.tiers[tier].name;
  own.profile = own.name;
  own.capacity = capacities[tier];
  policy.tiers.push_back(std::move(own));
  return policy;
}

Trace document_trace(const std::vector<DocumentRequest>& asked, Tokens length, Tokens fresh, Tokens block) {
  Trace trace;
  trace.name = "documents";
  trace.block_tokens = block;
  const auto blocks = static_cast<std::uint32_t>(length.value() / block.value());
  for (const DocumentRequest& ask : asked) {
    TraceRequest request;
    request.arrival = ask.arrival;
    request.prompt = length + fresh;
    request.session = static_cast<std::uint32_t>(ask.replica) + (1U << 16);  // 0 means unknown
    request.first_key = trace.keys.size();
    request.key_count = blocks;
    trace.requests.push_back(request);
    const BlockKey root = BlockKey::root(Namespace{"document", std::to_string(ask.document), "", 1, ""});
    for (std::uint32_t i = 0; i < blocks; ++i) {
      trace.keys.push_back(BlockKey{root.high + i * 0x9E3779B97F4A7C15ULL, root.low ^ i});
    }
  }
  return trace;
}

}  // namespace fulcrum::replay
