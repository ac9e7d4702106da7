#include "fulcrum/profile.h"

#include <algorithm>

namespace fulcrum {

std::string_view to_string(Medium medium) {
  switch (medium) {
    case Medium::dram:
      return "dram";
    case Medium::flash:
      return "flash";
    case Medium::hdd:
      return "hdd";
    case Medium::pool:
      break;
  }
  return "pool";
}

std::string_view to_string(PrefillSource source) {
  switch (source) {
    case PrefillSource::none:
      return "none";
    case PrefillSource::csv:
      return "csv";
    case PrefillSource::server:
      return "server";
    case PrefillSource::datasheet:
      return "datasheet";
    case PrefillSource::probe:
      break;
  }
  return "probe";
}

TransferLaw TierProfile::transfer() const {
  return {setup.value, {.single = read.value, .sigma = sigma.value, .k = k.value}};
}

TransferLaw TierProfile::transfer_slow() const {
  return {setup.high, {.single = read.low, .sigma = sigma.high, .k = k.high}};
}

CommitLaw TierProfile::commit() const {
  return {.sequential = write.value, .half = commit_half.value};
}

const TierProfile* MachineProfile::tier(std::string_view name) const {
  const auto found = std::ranges::find(tiers, name, &TierProfile::name);
  return found == tiers.end() ? nullptr : &*found;
}

}  // namespace fulcrum
