// The benefit that the product exists for, on a workload of returning sessions, and the laws that it keeps
// there. The same checks reject the policies that it is compared with.
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

struct Report {
  double saved = 0;  ///< seconds of prefill less seconds of load, idle GPU
  std::size_t loads = 0;
  std::size_t slower = 0;  ///< loads predicted slower than computing
  Bytes written{};
};

// Sessions of growing chains, most of which come once; the disk is slow enough that loading hurts often.
Report serve(Strategy strategy, std::uint64_t seed) {
  Decider own = decider(policy(strategy, {{"dram", 300}, {"hdd", 4000}}));
  Host host(own);
  Random random(seed);
  const PrefillLaw law = machine().prefill->cost.law;
  std::map<std::uint32_t, Chain> sessions;
  Report report;
  Seconds now(0);
  std::uint32_t next = 0;
  for (RequestId id = 1; id <= 1500; ++id) {
    now += Seconds(random.exponential());
    const std::uint32_t session =
        random.below(2) == 0 || next == 0
            ? next++
            : next - 1 - static_cast<std::uint32_t>(random.below(std::min(next, 40U)));
    Chain& keys = sessions[session];
    const Request asked = request(id, keys);
    const Plan plan = own.on_schedule(asked, now);
    host.finish_all(now);
    if (plan.reason.choice == Choice::load) {
      const Alternative& chosen = plan.alternatives[plan.reason.chosen];
      const Seconds computed = law.between(plan.resident, plan.load_end);
      ++report.loads;
      report.slower += chosen.load > computed ? 1U : 0U;
      report.saved += (computed - chosen.load).value();
    }
    keys = chain(5000 + session, 4 + random.below(20), keys);
    own.on_computed(keys, now);
    host.finish_all(now);
  }
  for (TierId tier = 0; tier < 2; ++tier) report.written += own.counters(tier).written;
  return report;
}

bool saves_without_harm(const Report& report) {
  return report.saved > 10 && report.slower == 0;
}

TEST(DeciderBenefit, SavesSecondsAndNeverChoosesALoadSlowerThanComputing) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Report product = serve(Strategy::break_even, seed);
    const Report always = serve(Strategy::load_always, seed);
    EXPECT_TRUE(saves_without_harm(product)) << product.saved << " s, " << product.slower << " slower";
    EXPECT_GT(product.saved, always.saved);
    EXPECT_LT(product.written, always.written) << "writing everything through costs more";
  }
}

TEST(DeciderBenefit, IsNotFoundInThePoliciesComparedWith) {
  const Report none = serve(Strategy::none, 1);
  EXPECT_EQ(none.loads, 0U);
  EXPECT_EQ(none.written, Bytes(0));
  EXPECT_FALSE(saves_without_harm(none));
  const Report always = serve(Strategy::load_always, 1);
  EXPECT_GT(always.slower, 0U);
  EXPECT_FALSE(saves_without_harm(always));
}

}  // namespace
}  // namespace fulcrum::testing
