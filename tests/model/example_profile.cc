#include "tests/model/example_profile.h"

#include "base/random.h"

namespace fulcrum::test {
namespace {

constexpr const char* kHead =
    "# EXAMPLE, not a measurement of your machine: run 'fulcrum calibrate' for that. Every verdict is\n"
    "# 'estimated'. Prefill: Llama-3.1-8B (bf16) on one H200, 4K / 32K / 64K tokens in 0.120 / 1.36 / 3.65 "
    "s.\n"
    "# dram: PCIe Gen5, 55 GB/s. nvme: a virtual disk of 2 to 3 GB/s. hdd: one 7,200 rpm drive, by its "
    "class.\n"
    "#\n";

template <class T>
Measured<T> guess(T value, T low, T high) {
  return {value, low, high, 1, Verdict::estimated};
}

TierProfile tier(const std::string& name, Medium medium, Bytes space, Bytes io_size, int depth) {
  TierProfile out;
  out.name = name;
  out.medium = medium;
  out.space = space;
  out.io_size = io_size;
  out.depth = depth;
  out.verdict = Verdict::estimated;
  out.findings = {"taken from published figures and data sheets, not measured here"};
  return out;
}

TierProfile dram() {
  TierProfile out = tier("dram", Medium::dram, 1024_GiB, 16_MiB, 1);
  out.setup = guess(Seconds(0.0002), Seconds(0.0001), Seconds(0.0005));
  out.read = guess(55_GBps, 50_GBps, BytesPerSecond(55.5e9));
  out.sigma = guess(1.0, 0.95, 1.0);  // one copy fills the link: two share it
  out.k = guess(0.0, 0.0, 0.001);
  out.write = guess(55_GBps, 50_GBps, BytesPerSecond(55.5e9));
  out.commit_half = guess(64_KiB, 32_KiB, 128_KiB);
  out.read_during_writes = guess(0.9, 0.8, 1.0);
  return out;
}

TierProfile nvme() {
  TierProfile out = tier("nvme", Medium::flash, 3500_GiB, 1_MiB, 16);
  out.device.filesystem = "ext4";
  out.io = {.uring = true, .direct = true};
  out.setup = guess(Seconds(0.001), Seconds(0.0005), Seconds(0.003));
  out.read = guess(2.5_GBps, 2_GBps, 3_GBps);
  out.sigma = guess(0.95, 0.85, 1.0);
  out.k = guess(0.0005, 0.0, 0.002);
  out.write = guess(1_GBps, 700_MBps, 1.5_GBps);
  out.commit_half = guess(256_KiB, 128_KiB, 512_KiB);
  out.read_during_writes = guess(0.6, 0.4, 0.8);
  return out;
}

TierProfile hdd() {
  TierProfile out = tier("hdd", Medium::hdd, 14'000_GiB, 16_MiB, 1);
  out.device.filesystem = "xfs";
  out.io = {.uring = true, .direct = true};
  out.setup = guess(Seconds(0.013), Seconds(0.008), Seconds(0.025));
  out.read = guess(200_MBps, 120_MBps, 260_MBps);
  out.sigma = guess(1.0, 0.95, 1.0);
  out.k = guess(0.03, 0.01, 0.06);
  out.write = guess(180_MBps, 100_MBps, 250_MBps);
  out.commit_half = guess(2500_KiB, 1500_KiB, 4_MiB);
  out.read_during_writes = guess(0.4, 0.2, 0.6);
  return out;
}

/// alpha and beta that pass through the three published points within 1 %; draws spread by 4 %.
PrefillProfile prefill() {
  constexpr double kAlpha = 2.731e-5;
  constexpr double kBeta = 8.66e-10;
  constexpr double kSpread = 0.04;
  constexpr int kDraws = 32;
  PrefillProfile out;
  out.source = PrefillSource::csv;
  out.gpu = "NVIDIA H200";
  out.model = "Llama-3.1-8B";
  out.kv_bytes_per_token = BytesPerToken(131072);
  out.samples = 3;
  out.cost.law.theta = {0, 0, kAlpha, kBeta, 0, 0};
  out.cost.residual = 0.02;
  out.cost.domain = 65536_tok;
  out.cost.verdict = Verdict::estimated;
  Random random(1);
  for (int i = 0; i < kDraws; ++i) {
    const double a = kAlpha * (1 + kSpread * (2 * random.uniform() - 1));
    const double b = kBeta * (1 + kSpread * (2 * random.uniform() - 1));
    out.cost.draws.push_back({0, 0, a, b, 0, 0});
  }
  return out;
}

}  // namespace

MachineProfile example_profile() {
  MachineProfile out;
  out.provenance.tool_version = "0.1.0";
  out.provenance.command = "tests/model/example_profile.cc";
  out.provenance.created_utc = "2025-01-01T00:00:00Z";
  out.provenance.seed = 1;
  out.provenance.mode = "example";
  out.provenance.memory = 1024_GiB;
  out.tiers = {dram(), nvme(), hdd()};
  out.prefill = prefill();
  return out;
}

std::string example_profile_text() {
  return kHead + example_profile().to_yaml();
}

}  // namespace fulcrum::test
