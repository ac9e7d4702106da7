#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/errors.h"
#include "model/datasheet.h"

namespace fulcrum {
namespace {

constexpr double kTera = 1e12;

constexpr GpuDatasheet gpu(std::string_view name, double bf16_tera, double fp8_tera, double memory_terabytes,
                           std::int64_t memory_mib, double link_gigabytes) {
  return {name,
          bf16_tera * kTera,
          fp8_tera * kTera,
          BytesPerSecond(memory_terabytes * kTera),
          Bytes(memory_mib << 20),
          BytesPerSecond(link_gigabytes * 1e9)};
}

// NVIDIA's data sheets, dense rates, as collected in the system files of github.com/ai-dynamo/aiconfigurator
// (commit 095f58a5, systems/*.yaml): bfloat16_tc_flops, fp8_tc_flops, mem_bw, mem_capacity, pcie_bw.
constexpr std::array kGpus = {
    gpu("H100 SXM", 989, 1978, 3.35, 81920, 64),          // h100_sxm.yaml
    gpu("H100 PCIe", 756.5, 1513, 2.0, 81920, 64),        // h100_pcie.yaml; 1513 and 3026 with sparsity
    gpu("H200 SXM", 989, 1978, 4.8, 144384, 64),          // h200_sxm.yaml
    gpu("A100 SXM", 312, 0, 2.039, 81920, 32),            // a100_sxm.yaml
    gpu("A100 PCIe", 312, 0, 1.935, 81920, 32),           // a100_pcie.yaml
    gpu("B200 SXM", 2250, 4500, 7.7, 184320, 128),        // b200_sxm.yaml
    gpu("B300 SXM", 2250, 4500, 7.75, 275040, 128),       // b300_sxm.yaml
    gpu("GB200", 2500, 5000, 8.0, 189471, 64),            // gb200.yaml
    gpu("GB300", 2500, 5000, 8.0, 284208, 64),            // gb300.yaml
    gpu("L40S", 362.05, 733, 0.864, 46068, 32),           // l40s.yaml
    gpu("L4", 121, 242, 0.3, 24576, 32),                  // l4.yaml; 242 and 485 with sparsity
    gpu("RTX PRO 6000", 467.8, 935.6, 1.792, 97887, 64),  // rtx_pro_6000_server.yaml
};

/// Letters and digits only, lower case, without the vendor's name in front.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out.starts_with("nvidia") ? out.substr(6) : out;
}

}  // namespace

std::span<const GpuDatasheet> gpu_table() {
  return kGpus;
}

Result<GpuDatasheet> find_gpu(std::string_view name) {
  const std::string wanted = plain(name);
  const auto exact =
      std::find_if(kGpus.begin(), kGpus.end(), [&](const auto& g) { return plain(g.name) == wanted; });
  if (exact != kGpus.end()) return *exact;
  const auto start = std::find_if(kGpus.begin(), kGpus.end(),
                                  [&](const auto& g) { return plain(g.name).starts_with(wanted); });
  if (!wanted.empty() && start != kGpus.end()) return *start;

  std::vector<std::string> words;
  words.reserve(kGpus.size());
  for (const GpuDatasheet& g : kGpus) words.push_back(plain(g.name));
  const std::vector<std::string_view> candidates(words.begin(), words.end());
  const std::string_view near = nearest(wanted, candidates);
  std::string detail = "no GPU of that name is known";
  std::string all;
  for (std::size_t i = 0; i < kGpus.size(); ++i) {
    if (!near.empty() && words[i] == near) detail += "; did you mean '" + std::string(kGpus[i].name) + "'?";
    all += (all.empty() ? "" : ", ") + std::string(kGpus[i].name);
  }
  return bad_input("GPU '" + std::string(name) + "'", detail, "known: " + all);
}

}  // namespace fulcrum
