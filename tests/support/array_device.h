// ArrayDevice: an array of turning disks behind one head, in simulated time, that keeps account of its time.
//
// Requests are served one after the other, in order of submission. One that does not go on where the last one
// ended costs a movement first; so does a sync that follows a write. Bytes are not kept: reads bring zeros.
// Every moment since the device was made belongs to one entry of its ledger, so that the entries add up to
// the time that went by. Threads: one. Deterministic.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "tiers/device.h"

namespace fulcrum::test {

/// Where the time of an array goes. Seconds.
struct ArrayLedger {
  enum Entry : std::size_t {
    rows,           ///< writing segments: rows and the headers of extents
    rows_moves,     ///< getting there
    journal,        ///< writing what lies before the segments
    journal_moves,  ///< getting there
    syncs,
    reads,  ///< with their movements
    idle,
    kEntries
  };
  static constexpr std::array<std::string_view, kEntries> kNames = {
      "rows", "moves_to_rows", "journal", "moves_to_journal", "syncs", "reads", "idle"};

  std::array<double, kEntries> seconds{};
  std::uint64_t visits = 0;  ///< of the journal: movements to it

  [[nodiscard]] double sum() const {
    double all = 0;
    for (const double part : seconds) all += part;
    return all;
  }
  [[nodiscard]] ArrayLedger since(const ArrayLedger& before) const {
    ArrayLedger out = *this;
    for (std::size_t i = 0; i < kEntries; ++i) out.seconds[i] -= before.seconds[i];
    out.visits -= before.visits;
    return out;
  }
};

struct ArrayTruth {
  BytesPerSecond write{};  ///< in order
  BytesPerSecond read{};
  Seconds move{};  ///< of the head, once; also what a sync takes
};

class ArrayDevice final : public Device {
 public:
  /// `clock` outlives the device.
  ArrayDevice(const Geometry& geometry, const ArrayTruth& truth, ManualClock& clock)
      : geometry_(geometry), truth_(truth), clock_(clock), begun_(clock.now()), free_(clock.now()) {}

  [[nodiscard]] Geometry geometry() const override { return geometry_; }
  [[nodiscard]] IoMode mode() const override { return {.uring = true, .direct = true}; }
  [[nodiscard]] DeviceIdentity identity() const override {
    return {"(array)", "simfs", "sim0", "simulated array", "", "none"};
  }
  /// What was done until now; what is under way counts with the share that is over.
  [[nodiscard]] ArrayLedger ledger() const {
    ArrayLedger out = ledger_;
    for (const Flight& flight : flights_) add(out, flight, clock_.now());
    out.seconds[ArrayLedger::idle] = std::max(0.0, (clock_.now() - begun_).value() - out.sum());
    return out;
  }

 private:
  struct Flight {
    IoCompletion done;
    Seconds begin{};
    Seconds arrived{};  ///< the head is there
    Seconds end{};
    ArrayLedger::Entry moving = ArrayLedger::idle;
    ArrayLedger::Entry working = ArrayLedger::idle;
  };

  static void add(ArrayLedger& ledger, const Flight& flight, Seconds until) {
    const auto between = [&](Seconds from, Seconds to) {
      return std::max(0.0, (std::min(to, until) - from).value());
    };
    ledger.seconds[flight.moving] += between(flight.begin, flight.arrived);
    ledger.seconds[flight.working] += between(flight.arrived, flight.end);
  }

  Result<void> do_submit(const IoRequest& request) override {
    Flight flight;
    flight.begin = flight.arrived = flight.end = std::max(free_, clock_.now());
    const auto size = static_cast<double>(size_of(request));
    const bool moves = request.kind == IoKind::read || request.kind == IoKind::write;
    if (moves && request.offset != head_) flight.arrived += truth_.move;
    if (moves) head_ = request.offset + size_of(request);
    const bool journal = request.offset < geometry_.head.value();
    if (request.kind == IoKind::read) {
      std::memset(request.buffer.data(), 0, request.buffer.size());
      flight.moving = flight.working = ArrayLedger::reads;
      flight.end = flight.arrived + Seconds(size / truth_.read.value());
    } else if (request.kind == IoKind::write) {
      flight.moving = journal ? ArrayLedger::journal_moves : ArrayLedger::rows_moves;
      flight.working = journal ? ArrayLedger::journal : ArrayLedger::rows;
      flight.end = flight.arrived + Seconds(size / truth_.write.value());
      dirty_ = true;
      if (journal && flight.arrived > flight.begin) ++ledger_.visits;
    } else if (request.kind == IoKind::sync) {
      flight.working = ArrayLedger::syncs;
      if (std::exchange(dirty_, false)) flight.end = flight.begin + truth_.move;
    }
    free_ = flight.end;
    flight.done = {
        request.tag, request.kind, static_cast<std::size_t>(size_of(request)), flight.end - clock_.now(), {}};
    flights_.push_back(std::move(flight));
    return {};
  }

  Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds wait) override {
    const Seconds deadline = clock_.now() + wait;
    if (!flights_.empty() && flights_.front().end > clock_.now()) {
      clock_.advance_to(std::min(flights_.front().end, deadline));
    }
    std::size_t count = 0;
    for (; count < out.size() && !flights_.empty() && flights_.front().end <= clock_.now(); ++count) {
      add(ledger_, flights_.front(), clock_.now());
      out[count] = std::move(flights_.front().done);
      flights_.pop_front();
    }
    return count;
  }

  Geometry geometry_;
  ArrayTruth truth_;
  ManualClock& clock_;
  Seconds begun_;
  Seconds free_;
  std::int64_t head_ = -1;
  bool dirty_ = false;  ///< something was written that no sync has followed
  std::deque<Flight> flights_;
  ArrayLedger ledger_;
};

}  // namespace fulcrum::test
