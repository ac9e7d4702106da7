#include "base/atomic_file.h"
#include "base/document.h"
#include "base/errors.h"
#include "policy/policy_reader.h"

namespace fulcrum {

std::string_view to_string(Strategy strategy) {
  return kStrategyNames[static_cast<std::size_t>(strategy)];
}

Result<PolicyConfig> PolicyConfig::load(const std::string& path) {
  auto text = read_file(path);
  if (!text) return text.error();
  return parse(*text, path);
}

Result<PolicyConfig> PolicyConfig::parse(const std::string& text, const std::string& where) {
  auto document = Document::parse_yaml(text, where);
  if (!document) return document.error();
  Problems problems(where);
  MapReader root(document->root(), problems);
  const std::int64_t version = root.integer("version");
  if (problems.empty() && version != kVersion) {
    return make_error(ErrorKind::mismatch, "read policy", where,
                      "version " + std::to_string(version) + " is not the version " +
                          std::to_string(kVersion) + " that this program reads",
                      "write the policy for version " + std::to_string(kVersion));
  }
  PolicyConfig policy;
  PolicyReader(policy, problems).read(root);
  if (!problems.empty()) return problems.error("read policy");
  return policy;
}

}  // namespace fulcrum
