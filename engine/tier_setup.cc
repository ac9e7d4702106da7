#include "engine/tier_setup.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/errors.h"
#include "base/log.h"
#include "model/profile_match.h"
#include "tiers/file_store.h"
#include "tiers/machine_facts.h"
#include "tiers/place.h"
#include "tiers/striped_tier.h"

namespace fulcrum::engine {
namespace {

constexpr std::int64_t kPageBytes = 4096;
constexpr std::int64_t kStagingRowsLeast = 2;
// A commit of this share of the sequential rate is large enough; far larger ones only wait longer. On turning
// disks nobody waits for one: it is how often the head leaves the rows, at a cost of one part in a hundred.
constexpr double kCommitShare = 0.9;
constexpr double kCommitShareTurning = 0.99;
constexpr Bytes kCommitLeast{std::int64_t{1} << 20};
constexpr Bytes kCommitMost{std::int64_t{64} << 20};
constexpr Bytes kCommitMostTurning{std::int64_t{8} << 30};

/// Collects what is wrong, to tell all of it at once.
class Troubles {
 public:
  void add(const std::string& where, const Error& error) {
    if (!first_) first_ = error;
    lines_ += (lines_.empty() ? "" : "\n") + where + ": " + error.message();
    ++count_;
  }
  [[nodiscard]] bool any() const { return first_.has_value(); }
  [[nodiscard]] Error error() const {
    if (count_ == 1) return *first_;
    Error all = *first_;
    all.operation = "open the engine";
    all.where = std::to_string(count_) + " things are wrong";
    all.detail = lines_;
    all.next_step = "mend them all, then start again";
    return all;
  }

 private:
  std::optional<Error> first_;
  std::string lines_;
  int count_ = 0;
};

std::int64_t stride_of(Bytes row) {
  return (row.value() + kPageBytes - 1) / kPageBytes * kPageBytes;
}

HugePages huge_pages(EnginePolicy::HugePages wish) {
  switch (wish) {
    case EnginePolicy::HugePages::always:
      return HugePages::always;
    case EnginePolicy::HugePages::never:
      return HugePages::never;
    case EnginePolicy::HugePages::automatic:
      break;
  }
  return HugePages::automatic;
}

/// Bytes of a row: what the host says, if that is what decisions are made with.
Result<Bytes> row_bytes(const EngineOptions& options) {
  if (!options.profile.prefill) {
    return bad_input("profile", "it has no prefill costs",
                     "calibrate with --prefill, --prefill-server or --prefill-datasheet");
  }
  const Bytes known = options.policy.block_tokens * options.profile.prefill->kv_bytes_per_token;
  if (options.row_bytes == Bytes(0)) return known;
  if (options.row_bytes < known || options.row_bytes > known + known / 100 + Bytes(kPageBytes)) {
    return make_error(ErrorKind::mismatch, "open", "engine",
                      "rows of " + std::to_string(options.row_bytes.value()) + " bytes, but a block of " +
                          std::to_string(options.policy.block_tokens.value()) + " tokens has " +
                          std::to_string(known.value()) + " by the profile",
                      "calibrate with this model's config.json, or mend row_bytes or block_tokens");
  }
  return options.row_bytes;
}

/// A profile of another machine plans with wrong numbers.
void check_machine(const EngineOptions& options, Troubles& troubles) {
  if (options.other_machine) return;
  const MachineFacts facts = machine_facts();
  MachineNow now{.cpu = facts.cpu,
                 .cores = facts.cores,
                 .memory = facts.memory,
                 .kernel = facts.kernel,
                 .utc = utc_stamp(),
                 .tiers = {}};
  for (const TierPolicy& tier : options.policy.tiers) {
    if (tier.paths.empty()) continue;
    auto found = identity_at(std::filesystem::absolute(tier.paths.front()).string());
    if (found.has_error()) continue;  // told where it is opened
    now.tiers.push_back({tier.profile.empty() ? tier.name : tier.profile, std::move(*found), {}});
  }
  const MachineDifferences differences = machine_differences(options.profile, now);
  for (const std::string& difference : differences.mismatches) {
    troubles.add("profile", make_error(ErrorKind::mismatch, "use", "the profile", difference,
                                       "calibrate this machine with fulcrum calibrate"));
  }
  for (const std::string& what : differences.notes) log(LogLevel::warn, "profile: " + what);
}

FileStoreOptions store_options(const EngineOptions& options, const TierPolicy& policy, Bytes row,
                               const TierProfile& profile) {
  FileStoreOptions store;
  store.name = options.name;
  store.row_bytes = row;
  store.capacity = policy.capacity / static_cast<std::int64_t>(policy.paths.size());
  store.medium = profile.medium;
  if (profile.io_size > Bytes(0)) store.io_size = profile.io_size;
  store.depth = std::max(profile.depth, 1) * profile.transfer().contention.gate();
  store.commit = commit_size(profile).value_or(store.commit);
  store.replace_foreign = options.policy.engine.replace_foreign;
  return store;
}

/// Opens all directories of a tier; several are striped.
void open_files(const EngineOptions& options, TierId id, const WrapDevice& wrap, OpenTiers& open,
                Troubles& troubles) {
  const TierPolicy& policy = options.policy.tiers[static_cast<std::size_t>(id)];
  const TierProfile* found = options.profile.tier(policy.profile.empty() ? policy.name : policy.profile);
  if (found == nullptr) return;  // told by check_against
  const TierProfile& profile = *found;
  if (policy.paths.empty()) {
    troubles.add("tier " + policy.name,
                 bad_input("policy", "it names no directory", "add 'path: DIR' to the tier"));
    return;
  }
  FileStoreOptions store = store_options(options, policy, open.row_bytes, profile);
  if (open.pool) store.rows = open.pool->memory();
  OpenTiers::Files files;
  files.tier = id;
  std::vector<StripedMember> members;
  for (const std::string& path : policy.paths) {
    if (wrap) {
      store.wrap = [&](std::unique_ptr<Device> device) { return wrap(path, std::move(device)); };
    }
    auto opened = open_file_store(path, store, *open.clock);
    if (opened.has_error()) {
      troubles.add("tier " + policy.name, opened.error());
      continue;
    }
    files.io += (files.io.empty() ? "" : "; ") + opened->io;
    files.written_today += opened->tier->history().today;
    members.push_back({path, std::move(opened->tier)});
  }
  if (members.size() < policy.paths.size()) return;
  if (members.size() == 1) {
    files.store = std::move(members.front().tier);
  } else {
    files.store = std::make_unique<StripedTier>(std::move(members), StripedOptions{}, *open.clock);
  }
  files.store->each_run([&](const StoredRun& run) { files.found.push_back(run); });
  // The decider counts rows, the tier their strides.
  TierPolicy& real = open.policy.tiers[static_cast<std::size_t>(id)];
  real.capacity = open.row_bytes * (files.store->status().capacity.value() / stride_of(open.row_bytes));
  open.stores.push_back(std::move(files));
}

void open_decision_log(const std::string& path, OpenTiers& open, Troubles& troubles) {
  if (path.empty()) return;
  auto file = LineFile::open(path);
  if (file.has_error()) return troubles.add("decision log", file.error());
  open.decisions = std::move(*file);
}

/// Memory for the DRAM tier and for staging, in one slab.
void open_memory(const EngineOptions& options, OpenTiers& open, Troubles& troubles) {
  const std::int64_t stride = stride_of(open.row_bytes);
  const EnginePolicy& policy = options.policy.engine;
  const TierPolicy& first = options.policy.tiers.front();
  const TierProfile* profile = options.profile.tier(first.profile.empty() ? first.name : first.profile);
  const bool memory = profile != nullptr && profile->medium == Medium::dram;
  const std::int64_t held = memory ? first.capacity.value() / stride : 0;
  const std::int64_t staged = std::max(policy.staging.value() / stride, kStagingRowsLeast);
  auto pool = RowPool::create({.row_bytes = open.row_bytes,
                               .rows = static_cast<std::size_t>(held + staged),
                               .shared = policy.shared_memory,
                               .huge_pages = huge_pages(policy.huge_pages),
                               .numa_node = policy.numa_node});
  if (pool.has_error()) {
    troubles.add("memory", pool.error());
    return;
  }
  open.pool = std::move(*pool);
  open.staging_rows = static_cast<std::size_t>(staged);
  if (!memory) return;
  open.dram = std::make_unique<DramTier>(open.pool, Bytes(held * stride), *open.clock);
  open.policy.tiers.front().capacity = open.row_bytes * held;
}

}  // namespace

std::optional<Bytes> commit_size(const TierProfile& profile) {
  const bool turning = profile.medium == Medium::hdd;
  const Bytes wished = profile.commit().size_for(turning ? kCommitShareTurning : kCommitShare);
  if (wished <= Bytes(0)) return std::nullopt;
  return std::clamp(wished, kCommitLeast, turning ? kCommitMostTurning : kCommitMost);
}

Result<OpenTiers> open_tiers(const EngineOptions& options, const WrapDevice& wrap) {
  OpenTiers open;
  Troubles troubles;
  open.clock = std::make_unique<SteadyClock>();
  open.policy = options.policy;
  if (options.policy.tiers.empty()) {
    return bad_input("policy", "it has no tier", "add at least one, see configs/dram_nvme.yaml");
  }
  const Result<Bytes> row = row_bytes(options);
  if (row.has_error()) return row.error();
  open.row_bytes = *row;
  if (const auto fits = options.policy.check_against(options.profile); !fits) {
    troubles.add("policy", fits.error());
  }
  check_machine(options, troubles);
  open_memory(options, open, troubles);
  for (TierId id = open.dram ? 1 : 0; id < static_cast<TierId>(options.policy.tiers.size()); ++id) {
    open_files(options, id, wrap, open, troubles);
  }
  open_decision_log(options.decision_log, open, troubles);
  if (troubles.any()) return troubles.error();
  return open;
}

}  // namespace fulcrum::engine
