#include "tests/engine/simulation.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "tests/engine/simulated_host.h"

namespace fulcrum::test {
namespace {

constexpr Seconds kRecovers{400};     ///< at the end, without faults
constexpr Seconds kGenerates{0.3};    ///< from a load's end to the store of the turn
constexpr std::size_t kLongest = 40;  ///< blocks of a session, then it begins anew
constexpr std::uint64_t kShared = 4;  ///< fronts that sessions share

}  // namespace

void SimulatedHost::begin_session(std::size_t i) {
  Session& session = sessions_[i];
  session = {};
  session.due = machine_.now() + exponential(options_.think);
  // A front that many sessions share: a system prompt.
  const auto front = static_cast<std::int32_t>(random_.below(kShared));
  BlockKey parent = BlockKey::root(SimMachine::name());
  for (std::int32_t block = 0; block < 6; ++block) {
    const std::array<std::int32_t, 2> tokens = {front, block};
    session.chain.push_back(parent = BlockKey::next(parent, tokens));
  }
  grow(session);
}

void SimulatedHost::grow(Session& session) {
  const std::uint64_t more = 1 + random_.below(6);
  for (std::uint64_t i = 0; i < more; ++i) {
    const std::array<std::int32_t, 1> tokens = {static_cast<std::int32_t>(next_token_++)};
    session.chain.push_back(BlockKey::next(session.chain.back(), tokens));
  }
}

void SimulatedHost::turn(std::size_t i) {
  Session& session = sessions_[i];
  session.due = kNever;
  Request request;
  request.id = ++request_;
  request.prompt = Tokens(static_cast<std::int64_t>(session.chain.size()) * SimMachine::kBlockTokens + 5);
  request.blocks = session.chain;
  request.session = static_cast<std::uint32_t>(i + 1);
  if (random_.below(2) == 0) machine_.core().hint(request, machine_.now());
  machine_.settle();
  Pending pending;
  pending.session = i;
  pending.keys = session.chain;
  LoadOptions load;
  if (random_.below(8) == 0) load.deadline = Seconds(0.002 + random_.uniform() * 0.05);
  if (random_.below(6) == 0) {
    pending.into.resize(session.chain.size() * SimMachine::kRow);
    for (std::size_t b = 0; b < session.chain.size(); ++b)
      load.into.push_back(&pending.into[b * SimMachine::kRow]);
  }
  if (random_.below(20) == 0) pending.gives_up = machine_.now() + Seconds(0.01 * random_.uniform());
  load.on_progress = [this, told = pending.told](const LoadProgress& now) { hear(*told, now); };
  const Seconds own = load.deadline > Seconds(0) ? load.deadline : Seconds(5);
  pending.load = machine_.core().load(request, std::move(load), machine_.now());
  pending.deadline = machine_.now() + std::min({own, Seconds(5), pending.load->plan().stop_loss});
  ++report_.loads;
  pending_.push_back(std::move(pending));
  if (random_.below(40) == 0) machine_.core().cancel(request_, machine_.now());
}

void SimulatedHost::end_of(Pending& pending) {
  look_at(pending);
  if (options_.keeps_a_row && !kept_ && pending.load->progress().ready > 0 && pending.into.empty()) {
    kept_ = pending.load;
  }
  if (pending.load != kept_) {
    pending.load->give_up();
    pending.told->gone = true;
  }
  Session& session = sessions_[pending.session];
  offers_.push_back({pending.session, machine_.now() + kGenerates});
  session.stored = session.chain.size();
}

void SimulatedHost::store(std::size_t i) {
  Session& session = sessions_[i];
  StoreRequest request{.chain = session.chain};
  auto rows = std::make_shared<std::vector<std::byte>>(session.chain.size() * SimMachine::kRow);
  for (std::size_t b = 0; b < session.chain.size(); ++b) {
    const std::span<std::byte> row = std::span(*rows).subspan(b * SimMachine::kRow, SimMachine::kRow);
    simulated_content(session.chain[b], row);
    request.rows.push_back(row.data());
  }
  const std::uint64_t id = ++report_.stores;
  answers_[id] = 0;
  // Once answered, the rows are the host's again: it spoils them.
  request.on_done = [this, id, life = life_, rows](const StoreOutcome& outcome) {
    if (life == life_) ++answers_[id];
    std::memset(rows->data(), 0xdd, rows->size());
    add(outcome.kept);
  };
  machine_.core().store(std::move(request), machine_.now());
  grow(session);
  session.due = machine_.now() + exponential(options_.think);
  if (session.chain.size() > kLongest) begin_session(i);
}

// The process is gone, and with it all that the host had under way.
void SimulatedHost::lose_everything() {
  for (const Pending& pending : pending_) sessions_[pending.session].due = machine_.now() + Seconds(1);
  for (const Offer& offer : offers_) sessions_[offer.session].due = machine_.now() + Seconds(1);
  pending_.clear();
  offers_.clear();
  answers_.clear();
  kept_.reset();
  ++life_;
}

Seconds SimulatedHost::next_turn() const {
  Seconds next = kNever;
  for (const Session& session : sessions_) next = std::min(next, session.due);
  for (const Offer& offer : offers_) next = std::min(next, offer.due);
  for (const Pending& pending : pending_) next = std::min(next, pending.gives_up);
  return next;
}

SimulationReport SimulatedHost::run() {
  const Seconds end = options_.length + kRecovers;
  while (machine_.now() < end) {
    // A machine that is restored late may be past what was due.
    const Seconds next = std::max(std::min({end, faults_.next(), next_turn()}), machine_.now());
    machine_.advance(next, [this] { watch(); });
    if (faults_.next() <= machine_.now() && faults_.act()) lose_everything();
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      if (sessions_[i].due <= machine_.now()) turn(i);
    }
    for (std::size_t i = 0; i < offers_.size();) {
      const Offer offer = offers_[i];
      if (offer.due > machine_.now()) {
        ++i;
        continue;
      }
      offers_.erase(offers_.begin() + static_cast<std::ptrdiff_t>(i));
      store(offer.session);
    }
    machine_.settle();
  }
  check_the_end();
  report_.faults = faults_.count();
  report_.kinds.assign(faults_.kinds().begin(), faults_.kinds().end());
  report_.starts = static_cast<std::uint64_t>(machine_.starts());
  return report_;
}

std::string SimulationReport::text() const {
  std::ostringstream out;
  out << loads << " loads (" << stopped << " stopped), " << blocks_right << " blocks right, "
      << blocks_from_files << " read from files in the last life, " << stores << " stores, " << faults
      << " faults of " << kinds.size() << " kinds, " << starts << " starts, hash " << hash;
  for (const std::string& law : broken) out << "\n  " << law;
  return out.str();
}

SimulationReport simulate(const SimulationOptions& options) {
  return SimulatedHost(options).run();
}

}  // namespace fulcrum::test
