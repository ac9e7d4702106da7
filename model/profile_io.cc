#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/document.h"
#include "base/errors.h"
#include "fulcrum/profile.h"
#include "model/profile_text.h"

namespace fulcrum {
namespace {

constexpr std::string_view kHead =
    "# Fulcrum machine profile: what calibration found on one machine. Keys carry their units.\n"
    "# To edit by hand, remove the checksum line: the file is then read with a finding that says so.\n";
constexpr std::string_view kChecksumKey = "checksum: ";
constexpr std::string_view kEdited = "edited by hand: this profile has no checksum";

std::string checksum_of(std::string_view body) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash64(body), 16);
  const std::string_view hex(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
  return "xxh3-" + std::string(digits.size() - hex.size(), '0') + std::string(hex);
}

/// What follows the checksum line.
std::string_view body_of(std::string_view text) {
  const std::size_t line = text.starts_with(kChecksumKey) ? 0 : text.find("\n" + std::string(kChecksumKey));
  if (line == std::string_view::npos) return {};
  const std::size_t end = text.find('\n', line + 1);
  return end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
}

Result<void> check_schema(MapReader& root, const std::string& where) {
  const std::int64_t schema = root.integer("schema");
  if (!root.has("schema") || schema == MachineProfile::kSchema) return {};
  return make_error(ErrorKind::mismatch, "read profile", where,
                    "schema " + std::to_string(schema) + " is not the schema " +
                        std::to_string(MachineProfile::kSchema) + " that this version reads",
                    "calibrate again with this version");
}

Result<void> check_checksum(MapReader& root, const std::string& text, const std::string& where) {
  if (!root.has("checksum") || root.text("checksum") == checksum_of(body_of(text))) return {};
  return make_error(
      ErrorKind::corrupt, "read profile", where,
      "the checksum does not fit: the file was changed or damaged after it was written",
      "restore it or calibrate again; to keep an edit, remove the line that starts with 'checksum:'");
}

}  // namespace

std::string MachineProfile::to_yaml() const {
  const std::string body = profile_body(*this);
  return std::string(kHead) + "schema: " + std::to_string(kSchema) + "\n" + std::string(kChecksumKey) +
         checksum_of(body) + "\n" + body;
}

Result<MachineProfile> MachineProfile::parse(const std::string& text, const std::string& where) {
  auto document = Document::parse_yaml(text, where);
  if (!document) return document.error();
  Problems problems(where);
  MapReader root(document->root(), problems);
  if (auto same = check_schema(root, where); !same) return same.error();
  if (auto intact = check_checksum(root, text, where); !intact) return intact.error();
  root.ignore("checksum");
  MachineProfile profile = read_profile_body(root);
  if (!problems.empty()) return problems.error("read profile");
  const bool known = std::ranges::find(profile.findings, kEdited) != profile.findings.end();
  if (!root.has("checksum") && !known) profile.findings.emplace_back(kEdited);
  return profile;
}

Result<MachineProfile> MachineProfile::load(const std::string& path) {
  auto text = read_file(path);
  if (!text) return text.error();
  return parse(*text, path);
}

Result<void> MachineProfile::save(const std::string& path) const {
  const std::string text = to_yaml();
  if (auto readable = parse(text, path); !readable) {
    Error error = readable.error();
    error.operation = "save profile";
    return error;
  }
  return write_file_atomically(path, text);
}

}  // namespace fulcrum
