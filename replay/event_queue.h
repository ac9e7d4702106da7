// EventQueue: what happens next in virtual time. Events of one instant come out in the order they went in,
// so that a run depends on its inputs alone. Time never goes backwards: an event in the past is a
// programmer error.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/check.h"
#include "fulcrum/units.h"

namespace fulcrum::replay {

enum class EventKind : std::uint8_t {
  arrival,       ///< index: request
  device,        ///< index: device; token: generation of the device's forecast
  prefill_done,  ///< index: replica
  ready,         ///< index: replica that may have work
  stop_loss,     ///< index: request
};

struct Event {
  Seconds time{};
  std::uint64_t sequence = 0;
  EventKind kind = EventKind::arrival;
  std::uint32_t index = 0;
  std::uint64_t token = 0;

  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : sequence > other.sequence;
  }
};

class EventQueue {
 public:
  void push(Seconds time, EventKind kind, std::uint32_t index, std::uint64_t token = 0) {
    FULCRUM_CHECK(time >= now_, "an event cannot be put into the past");
    events_.push(Event{time, ++sequence_, kind, index, token});
  }

  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] Seconds now() const { return now_; }

  Event pop() {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    return event;
  }

 private:
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t sequence_ = 0;
  Seconds now_{};
};

}  // namespace fulcrum::replay
