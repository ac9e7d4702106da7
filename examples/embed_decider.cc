// How a cache backend embeds the decider: offer what the GPU computed, carry the orders out, ask for a plan.
//
// The mover here is a loop that says "done"; a real one moves bytes and reports how long it took.
#include <fulcrum/decider.h>

#include <cstdio>
#include <vector>

using namespace fulcrum;

namespace {

MachineProfile example_machine() {
  TierProfile dram;
  dram.name = "dram";
  dram.medium = Medium::dram;
  dram.setup = Measured<Seconds>::exact(500_us);
  dram.read = Measured<BytesPerSecond>::exact(50_GBps);
  dram.sigma = dram.k = Measured<double>::exact(0);
  dram.verdict = Verdict::estimated;

  PrefillProfile prefill;
  prefill.source = PrefillSource::datasheet;
  prefill.gpu = "example";
  prefill.model = "8B";
  prefill.kv_bytes_per_token = BytesPerToken(131'072);
  prefill.cost.law.theta = {0, 0, 25.7e-6, 0.96e-9};
  prefill.cost.verdict = Verdict::estimated;

  MachineProfile machine;
  machine.tiers.push_back(dram);
  machine.prefill = prefill;
  return machine;
}

void carry_out(Decider& decider, Seconds now) {
  for (const Order& order : decider.take_orders()) {
    std::printf("  order %s: %zu blocks, %.0f MB\n", std::string(to_string(order.kind)).c_str(),
                order.keys.size(), static_cast<double>(order.bytes.value()) / 1e6);
    decider.on_outcome({.order = order.id, .blocks_done = static_cast<std::uint32_t>(order.keys.size())},
                       now);
  }
}

}  // namespace

int main() {
  const auto policy =
      PolicyConfig::parse("version: 1\ntiers:\n  - {name: dram, capacity: 64 GiB}\n", "built-in policy");
  if (!policy) return std::printf("%s\n", policy.error().message().c_str()), 1;
  auto decider = Decider::create(*policy, example_machine());
  if (!decider) return std::printf("%s\n", decider.error().message().c_str()), 1;

  std::vector<BlockKey> chain;
  Namespace name;
  name.model = "example-8b";
  name.layout = "paged";
  name.dtype = "bf16";
  BlockKey key = BlockKey::root(name);
  for (std::int32_t block = 0; block < 16; ++block) {
    const std::vector<std::int32_t> tokens(512, block);
    chain.push_back(key = BlockKey::next(key, tokens));
  }

  std::printf("a prompt of 8,192 tokens was computed\n");
  decider->on_computed(chain, 1_s);
  carry_out(*decider, 2_s);

  std::printf("it comes back with 200 tokens more\n");
  const Plan plan = decider->on_schedule({.id = 7, .prompt = Tokens(8'392), .blocks = chain}, 30_s);
  std::printf("  load %lld tokens, compute %lld: saves %.3f s, pays %.3f s\n",
              static_cast<long long>(plan.to_load().value()),
              static_cast<long long>(plan.to_compute().value()), plan.reason.saved.value(),
              plan.reason.paid.value());
  carry_out(*decider, 31_s);
}
