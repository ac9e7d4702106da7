#include "tiers/striped_members.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace fulcrum {

StripedMembers::StripedMembers(std::vector<StripedMember> members, std::size_t stripe_blocks)
    : members_(std::move(members)), health_(members_.size(), Health::healthy), stripe_blocks_(stripe_blocks) {
  for (const StripedMember& member : members_) {
    FULCRUM_CHECK(member.tier->row_bytes() == members_.front().tier->row_bytes(), "members have equal rows");
    FULCRUM_CHECK(member.weight > 0, "every member has a share");
    const std::uint64_t id = placement_id(member.name);
    FULCRUM_CHECK(std::ranges::find(placement_, id, &PlacementMember::id) == placement_.end(),
                  "members have names of their own");
    placement_.push_back({id, member.weight});
  }
  refresh();
}

void StripedMembers::refresh() {
  for (std::size_t i = 0; i < size(); ++i) health_[i] = members_[i].tier->status().health;
}

Health StripedMembers::best() const {
  return *std::ranges::min_element(health_);
}

std::string StripedMembers::reasons() const {
  std::string out;
  for (const StripedMember& member : members_) {
    const TierStatus status = member.tier->status();
    if (status.health == Health::healthy) continue;
    out += (out.empty() ? "" : "; ") + member.name + " is " + std::string(to_string(status.health)) + ": " +
           status.reason;
  }
  return out;
}

bool StripedMembers::hidden(const BlockKey& key) const {
  const auto found = writing_.find(key);
  return found != writing_.end() && !found->second.reported;
}

std::optional<std::size_t> StripedMembers::holder(const BlockKey& key) const {
  if (hidden(key)) return std::nullopt;
  for (std::size_t i = 0; i < size(); ++i) {
    if (readable(i) && members_[i].tier->contains(key)) return i;
  }
  return std::nullopt;
}

std::vector<PlacementMember> StripedMembers::healthy() const {
  std::vector<PlacementMember> members = placement_;
  for (std::size_t i = 0; i < size(); ++i) {
    if (health_[i] != Health::healthy) members[i].weight = 0;
  }
  return members;
}

std::vector<std::optional<std::size_t>> StripedMembers::targets(const TierWrite& write) const {
  std::optional<std::size_t> begun = holder(write.parent);
  if (begun && health_[*begun] != Health::healthy) begun.reset();
  std::vector<std::optional<std::size_t>> targets =
      place_stripes(write.first, write.keys, stripe_blocks_, begun, healthy());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (holder(write.keys[i])) {
      targets[i].reset();
    } else if (const auto other = writing_.find(write.keys[i]); other != writing_.end()) {
      targets[i] = other->second.member;  // never on two members
    }
  }
  return targets;
}

void StripedMembers::on_begin(std::span<const BlockKey> keys,
                              std::span<const std::optional<std::size_t>> targets) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!targets[i]) continue;
    Writing& writing = writing_[keys[i]];
    writing.member = *targets[i];
    ++writing.writers;
  }
}

void StripedMembers::on_reported(std::span<const BlockKey> keys) {
  for (const BlockKey& key : keys) {
    const auto found = writing_.find(key);
    if (found != writing_.end()) found->second.reported = true;
  }
}

// What none of its writers has reported, nobody knows of: it must not take room for ever.
void StripedMembers::on_over(std::span<const BlockKey> keys) {
  for (const BlockKey& key : keys) {
    const auto found = writing_.find(key);
    if (found == writing_.end() || --found->second.writers > 0) continue;
    if (!found->second.reported) members_[found->second.member].tier->erase({&key, 1});
    writing_.erase(found);
  }
}

void StripedMembers::each_run(const std::function<void(const StoredRun&)>& visit) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (!readable(i)) continue;
    members_[i].tier->each_run([&](const StoredRun& run) {
      StoredRun part{run.parent, run.first, {}, run.worth, run.age};
      for (std::size_t block = 0; block < run.keys.size(); ++block) {
        const BlockKey& key = run.keys[block];
        if (!hidden(key)) {
          part.keys.push_back(key);
          continue;
        }
        if (!part.keys.empty()) visit(part);
        part.keys.clear();
        part.parent = key;
        part.first = run.first + static_cast<std::uint32_t>(block) + 1;
      }
      if (!part.keys.empty()) visit(part);
    });
  }
}

}  // namespace fulcrum
