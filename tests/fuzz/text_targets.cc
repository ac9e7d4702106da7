// Laws of texts: a refusal is told as one; what was read is written as a text that reads back to the same
// text. A policy that was read is also held against a profile, and a decision is taken again.
#include <string>

#include "base/document.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"
#include "policy/decision_log.h"
#include "tests/fuzz/targets.h"

namespace fulcrum::fuzz {
namespace {

constexpr const char* kWhere = "fuzz:1";
constexpr std::size_t kMostText = 64 << 10;

std::string text_of(std::span<const std::byte> input) {
  return std::string(Input(input.first(std::min(input.size(), kMostText))).text());
}

void require_told(const Error& error) {
  require(error.kind == ErrorKind::bad_input || error.kind == ErrorKind::mismatch ||
              error.kind == ErrorKind::corrupt,
          "a text that is refused is bad, of another version or damaged");
  require(error.message().size() > 10, "a refusal says what is wrong");
}

/// The lines without their comments: those name the lines of another text.
std::string without_comments(const std::string& yaml) {
  std::string out;
  for (std::size_t at = 0; at < yaml.size();) {
    const std::size_t end = std::min(yaml.find('\n', at), yaml.size());
    const std::string line = yaml.substr(at, end - at);
    out += line.substr(0, line.rfind("  # ")) + "\n";
    at = end + 1;
  }
  return out;
}

const MachineProfile& example_profile() {
  static const MachineProfile profile = [] {
    auto loaded = MachineProfile::load(FULCRUM_SOURCE_DIR "/configs/profiles/example.yaml");
    require(loaded.has_value(), "the example profile can be read");
    return std::move(*loaded);
  }();
  return profile;
}

}  // namespace

bool run_profile(std::span<const std::byte> input) {
  const auto profile = MachineProfile::parse(text_of(input), kWhere);
  if (profile.has_error()) {
    require_told(profile.error());
    return false;
  }
  const std::string once = profile->to_yaml();
  const auto same = MachineProfile::parse(once, kWhere);
  require(same.has_value(), "a profile that was written can be read");
  require(same->to_yaml() == once, "a profile is written as it was read");
  return true;
}

bool run_policy(std::span<const std::byte> input) {
  const auto policy = PolicyConfig::parse(text_of(input), kWhere);
  if (policy.has_error()) {
    require_told(policy.error());
    return false;
  }
  const std::string once = policy->to_yaml();
  const auto same = PolicyConfig::parse(once, kWhere);
  require(same.has_value(), "the effective policy can be read");
  require(without_comments(same->to_yaml()) == without_comments(once), "a policy is written as it was read");
  if (const auto fits = policy->check_against(example_profile()); fits.has_error()) {
    require(fits.error().kind == ErrorKind::mismatch, "a policy that does not fit is a mismatch");
  }
  static_cast<void>(policy->too_large_for(example_profile()));
  return true;
}

bool run_decision(std::span<const std::byte> input) {
  const std::string text = text_of(input);
  const auto record = parse_decision(text, kWhere);
  if (record.has_error()) {
    require(record.error().kind == ErrorKind::bad_input, "a line that is refused is bad input");
    return false;
  }
  const std::string line = to_line(*record);
  const auto same = parse_decision(line, kWhere);
  require(same.has_value(), "a decision that was written can be read");
  require(to_line(*same) == line, "a decision is written as it was read");
  const DecisionRecord again = decide_again(*record, record->rule);
  require(again.reason.chosen < again.alternatives.size(), "a decision is one of its alternatives");
  require(again.load_end == again.alternatives[again.reason.chosen].load_end, "and says which");
  static const PolicyConfig policy = [] {
    auto loaded = PolicyConfig::load(FULCRUM_SOURCE_DIR "/configs/dram_nvme_hdd.yaml");
    require(loaded.has_value(), "the policy of the target can be read");
    return std::move(*loaded);
  }();
  const auto anew = decide_again(*record, policy, example_profile());
  require(anew.has_value() || anew.error().kind == ErrorKind::mismatch,
          "a decision is priced anew, or names a tier that is not there");
  return true;
}

}  // namespace fulcrum::fuzz
