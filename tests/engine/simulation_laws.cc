#include <algorithm>
#include <cstring>

#include "tests/engine/simulated_host.h"

namespace fulcrum::test {
namespace {

constexpr Seconds kTickSlack{0.021};  ///< the longest step of the machine's clock
constexpr std::size_t kBroken = 5;    ///< laws that are told

}  // namespace

void SimulatedHost::breaks(const std::string& what) {
  if (report_.broken.size() < kBroken) {
    report_.broken.push_back("at " + std::to_string(machine_.now().value()) + " s: " + what);
  }
}

// The callback of a load: after each step forward, and once with the end.
void SimulatedHost::hear(Told& told, const LoadProgress& now) {
  if (told.gone) breaks("a callback came after its load was dropped");
  if (told.any && told.last.end != LoadEnd::running) breaks("a callback came after the end was told");
  if (told.any && now.end == LoadEnd::running && now.ready <= told.last.ready)
    breaks("a callback came although nothing had come");
  told.last = now;
  told.any = true;
}

void SimulatedHost::look_at(Pending& pending) {
  const LoadProgress progress = pending.load->progress();
  if (progress.ready != pending.told->last.ready || progress.end != pending.told->last.end)
    breaks("a callback was not told what its load shows");
  if (progress.ready > pending.load->count()) breaks("more is ready than was to come");
  if (progress.end == LoadEnd::complete && progress.ready != pending.load->count())
    breaks("a complete load is not complete");
  std::vector<std::byte> right(SimMachine::kRow);
  for (std::uint32_t i = 0; i < progress.ready; ++i) {
    const std::span<const std::byte> row =
        pending.into.empty()
            ? pending.load->row(i)
            : std::span<const std::byte>(pending.into).subspan(i * SimMachine::kRow, SimMachine::kRow);
    simulated_content(pending.keys[pending.load->first() + i], right);
    if (std::memcmp(row.data(), right.data(), right.size()) != 0)
      breaks("wrong bytes in block " + std::to_string(i) + " of a load");
  }
  report_.blocks_right += progress.ready;
  if (progress.end == LoadEnd::stopped) ++report_.stopped;
  add(progress.ready * 8 + static_cast<std::uint64_t>(progress.end));
}

// Called after every step: ends of loads, deadlines, the host's own changes of mind.
void SimulatedHost::watch() {
  const Seconds now = machine_.now();
  for (std::size_t i = 0; i < pending_.size();) {
    Pending& pending = pending_[i];
    const bool ended = pending.load->progress().end != LoadEnd::running;
    if (!ended && now > pending.deadline + kTickSlack) {
      breaks("a load runs on after its deadline of " + std::to_string(pending.deadline.value()));
      pending.deadline = kNever;
    }
    if (!ended && now >= pending.gives_up) machine_.settle();
    if (ended || now >= pending.gives_up) {
      end_of(pending);
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (now >= check_at_) check_capacity();
}

void SimulatedHost::check_capacity() {
  check_at_ = machine_.now() + Seconds(5);
  const EngineStatus status = machine_.core().status();
  for (const EngineTier& tier : status.tiers) {
    if (tier.used > tier.capacity) breaks(tier.name + " holds more than its capacity");
    add(tier.blocks);
  }
  for (const auto& [id, count] : answers_) {
    if (count > 1) breaks("a store was answered twice");
  }
}

// Faults are over and forgotten: everything works, everything is answered, no row is missing.
void SimulatedHost::check_the_end() {
  for (const EngineTier& tier : machine_.core().status().tiers) {
    if (tier.health != "healthy")
      breaks(tier.name + " did not come back: " + tier.health + ", " + tier.reason);
    if (tier.limbo != Bytes(0)) breaks(tier.name + " still has rows in limbo");
    if (tier.name != "dram") report_.blocks_from_files += tier.blocks_read;
  }
  for (const Session& session : sessions_) add(session.chain.size());
  for (Session& session : sessions_) session.due = kNever;
  machine_.core().begin_close(machine_.now(), Seconds(0));
  const Seconds limit = machine_.now() + Seconds(10);
  while ((!machine_.core().quiet() || !pending_.empty()) && machine_.now() < limit)
    machine_.advance(limit, [this] { watch(); });
  machine_.settle();
  if (!machine_.core().quiet()) breaks("it does not become quiet");
  for (const auto& [id, count] : answers_) {
    if (count != 1)
      breaks("store " + std::to_string(id) + " was answered " + std::to_string(count) + " times");
  }
  const EngineStatus status = machine_.core().status();
  const std::size_t missing = machine_.pool().rows() - status.free_rows - status.tiers[0].blocks;
  if (missing != 0) breaks(std::to_string(missing) + " rows are missing");
}

}  // namespace fulcrum::test
