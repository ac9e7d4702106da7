#include "tests/engine/simulation_faults.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

namespace fulcrum::test {
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};
constexpr std::int64_t kPageBytes = 4096;
// A device that is down for longer than any load may take, and than the engine waits before it says so.
constexpr Seconds kLongStall{40};

}  // namespace

SimFaults::SimFaults(SimMachine& machine, Random random, Seconds every, Seconds until)
    : machine_(machine), random_(random), every_(every), until_(until) {
  next_ = every > Seconds(0) ? every * random_.uniform() : kNever;
}

Seconds SimFaults::next() const {
  Seconds next = next_;
  for (const auto& until : sick_until_) next = std::min(next, until.value_or(kNever));
  return next;
}

Seconds SimFaults::some_time(Seconds least, Seconds most) {
  return least * std::pow(most.value() / least.value(), random_.uniform());
}

void SimFaults::note(const std::string& kind) {
  kinds_.insert(kind);
  ++count_;
}

bool SimFaults::act() {
  bool anew = false;
  for (std::size_t i = 0; i < sick_until_.size(); ++i) {
    if (sick_until_[i] && *sick_until_[i] <= machine_.now()) end(i);
  }
  if (next_ <= machine_.now()) {
    anew = begin(random_.below(machine_.devices()));
    next_ = machine_.now() - every_ * std::log(1 - random_.uniform());
    if (next_ >= until_) next_ = kNever;
  }
  return anew;
}

void SimFaults::end(std::size_t device) {
  machine_.device(device).mend();
  machine_.device(device).release();
  machine_.device(device).slow(1);
  machine_.device(device).set_space(std::nullopt);
  sick_until_[device].reset();
}

bool SimFaults::begin(std::size_t device) {
  const std::uint64_t kind = random_.below(10);
  if (kind < 2) return begin_anew();
  if (kind < 4) {
    damage(device);
  } else if (!sick_until_[device]) {
    begin_lasting(device);
  }
  return false;
}

// A start makes new devices: whatever ailed the old ones is over.
bool SimFaults::begin_anew() {
  switch (random_.below(3)) {
    case 0:
      note("power failure");
      machine_.crash(random_);
      break;
    case 1:
      note("kill");
      machine_.kill();
      break;
    default:
      note("restart");
      machine_.restart();
      break;
  }
  sick_until_ = {};
  return true;
}

void SimFaults::begin_lasting(std::size_t device) {
  TestDevice& sick = machine_.device(device);
  Seconds lasts = some_time(Seconds(0.2), Seconds(60));
  const auto refuse = [&](int code, std::initializer_list<IoKind> kinds) {
    for (const IoKind kind : kinds) sick.fail({.code = code, .kind = kind, .count = DeviceFault::kAlways});
  };
  switch (random_.below(7)) {
    case 0:
      note("some reads fail");
      sick.fail(
          {.code = EIO, .kind = IoKind::read, .nth = 1 + random_.below(4), .count = 1 + random_.below(9)});
      break;
    case 1:
      note("everything fails");
      sick.fail({.code = EIO, .count = DeviceFault::kAlways});
      break;
    case 2:
      note("no space");
      sick.set_space(sick.space_taken());
      refuse(random_.below(2) == 0 ? ENOSPC : EDQUOT, {IoKind::allocate});
      break;
    case 3:
      note("read only");
      refuse(EROFS, {IoKind::write, IoKind::allocate, IoKind::sync});
      break;
    case 4:
      note("stall");
      sick.stall();
      if (random_.below(3) == 0) lasts = kLongStall;
      break;
    case 5:
      note("writes stall");
      sick.stall(IoKind::write);
      break;
    default:
      note("slow");
      sick.slow(std::array{2.0, 10.0, 100.0}[random_.below(3)]);
      break;
  }
  sick_until_[device] = std::min(machine_.now() + lasts, until_);
}

// Bytes change behind everybody's back: rot, a write that went astray, a write that never happened.
void SimFaults::damage(std::size_t device) {
  TestDevice& sick = machine_.device(device);
  const std::int64_t pages = sick.geometry().capacity.value() / kPageBytes;
  const auto some_page = [&] {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(pages))) * kPageBytes;
  };
  const std::int64_t one = some_page();
  const std::int64_t other = some_page();
  switch (random_.below(3)) {
    case 0:
      note("rot");
      sick.change([&](Image& image) {
        for (int i = 0; i < 40; ++i) image[random_.below(image.size())] ^= std::byte{4};
      });
      break;
    case 1:
      note("astray");
      sick.change([&](Image& image) { std::memcpy(image.data() + one, image.data() + other, kPageBytes); });
      break;
    default:
      note("stale");
      if (old_page_ && old_page_->offset + kPageBytes <= sick.geometry().capacity.value()) {
        sick.change([&](Image& image) {
          std::memcpy(image.data() + old_page_->offset, old_page_->bytes.data(), old_page_->bytes.size());
        });
      }
      old_page_ = {one, {sick.image().begin() + one, sick.image().begin() + one + kPageBytes}};
      break;
  }
}

}  // namespace fulcrum::test
