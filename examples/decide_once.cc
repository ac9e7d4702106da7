// Decides once, with no GPU and no disk: is a 38,400-token prefix cheaper to read back or to compute again?
#include <fulcrum/cost.h>

#include <cstdio>

int main() {
  using namespace fulcrum;
  const PrefillLaw prefill{.theta = {0, 0, 25.7e-6, 0.96e-9}};  // an 8B model on one H100: s/token, s/token^2
  const BytesPerToken kappa(131'072);                           // its KV cache, bf16
  const TransferLaw nvme{.setup = 1_ms, .contention = {.single = 6_GBps}};
  const Tokens prefix(38'400);

  const Seconds load = nvme.time(prefix * kappa);
  const Seconds compute = prefill.between(Tokens(0), prefix);
  const Tokens least = break_even_prefix(prefill.alpha(), prefill.beta(), kappa.value() / 6e9, 1_ms);
  const BytesPerSecond needed = break_even_bandwidth(kappa, prefill.alpha(), prefill.beta(), prefix);

  std::printf("%s: load %.2f s, compute %.2f s\n", load < compute ? "LOAD" : "RECOMPUTE", load.value(),
              compute.value());
  std::printf("this tier pays from %lld tokens on; the last block needs %.1f GB/s\n",
              static_cast<long long>(least.value()), needed.value() / 1e9);
}
