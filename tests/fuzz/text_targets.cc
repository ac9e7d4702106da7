// Laws of texts: a refusal is told as one; what was read is written as a text that reads back to the same
// text. A policy that was read is also held against a profile, and a decision is taken again.
#include <string>

#include "base/document.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"
#include "tests/fuzz/laws.h"
#include "tests/fuzz/targets.h"

namespace fulcrum::fuzz {
namespace {

constexpr const char* kWhere = "fuzz:1";
constexpr std::size_t kMostText = 64 << 10;

std::string text_of(std::span<const std::byte> input) {
  return std::string(Input(input.first(std::min(input.size(), kMostText))).text());
}

constexpr auto kTextKinds = {ErrorKind::bad_input, ErrorKind::mismatch, ErrorKind::corrupt};

std::string as_it_is(const std::string& text) {
  return text;
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
  const auto rewrite = [](const std::string& text) -> Result<std::string> {
    const auto profile = MachineProfile::parse(text, kWhere);
    if (profile.has_value()) return profile->to_yaml();
    check_refusal(profile.error(), kTextKinds);
    return profile.error();
  };
  return check_text(text_of(input), rewrite, as_it_is);
}

bool run_policy(std::span<const std::byte> input) {
  const auto rewrite = [](const std::string& text) -> Result<std::string> {
    const auto policy = PolicyConfig::parse(text, kWhere);
    if (policy.has_error()) {
      check_refusal(policy.error(), kTextKinds);
      return policy.error();
    }
    if (const auto fits = policy->check_against(example_profile()); fits.has_error()) {
      check_refusal(fits.error(), {ErrorKind::mismatch});
    }
    static_cast<void>(policy->too_large_for(example_profile()));
    return policy->to_yaml();
  };
  return check_text(text_of(input), rewrite, without_comments);
}

bool run_decision(std::span<const std::byte> input) {
  static const PolicyConfig policy = [] {
    auto loaded = PolicyConfig::load(FULCRUM_SOURCE_DIR "/configs/dram_nvme_hdd.yaml");
    require(loaded.has_value(), "the policy of the target can be read");
    return std::move(*loaded);
  }();
  const auto rewrite = [](const std::string& text) -> Result<std::string> {
    const auto record = parse_decision(text, kWhere);
    if (record.has_error()) {
      check_refusal(record.error(), {ErrorKind::bad_input});
      return record.error();
    }
    check_decision(decide_again(*record, record->rule));
    const auto anew = decide_again(*record, policy, example_profile());
    if (anew.has_error()) check_refusal(anew.error(), {ErrorKind::mismatch});
    return to_line(*record);
  };
  return check_text(text_of(input), rewrite, as_it_is);
}

}  // namespace fulcrum::fuzz
