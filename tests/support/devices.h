// Devices that misbehave in one way each, around a device that does not. For the tests of every room.
//
//   PassThrough     adds nothing: what the others are built on, and itself held to the device contract
//   CountingDevice  remembers every request
//   FaultyDevice    fails the n-th request, or each with a probability, with a given errno
//   SlowDevice      holds each completion back for a time on a given clock
//   LyingDevice     reports success and returns or keeps the wrong bytes
//
// They own the device inside. Deterministic: faults fall by the order of submission or by a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/random.h"
#include "tiers/aligned_buffer.h"
#include "tiers/device.h"

namespace fulcrum::test {

class PassThrough : public Device {
 public:
  explicit PassThrough(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] Geometry geometry() const override { return inner_->geometry(); }
  [[nodiscard]] IoMode mode() const override { return inner_->mode(); }
  [[nodiscard]] DeviceIdentity identity() const override { return inner_->identity(); }
  [[nodiscard]] DeviceEvidence evidence() const override { return inner_->evidence(); }
  Result<void> drop_cache() override { return inner_->drop_cache(); }
  Result<void> sync() override { return inner_->sync(); }
  [[nodiscard]] Result<void> in_place(std::uint64_t look) const override { return inner_->in_place(look); }
  void wake() override { inner_->wake(); }
  [[nodiscard]] Device& inner() { return *inner_; }

 protected:
  /// A request as the caller gave it, and its number in the order of submission, from 1.
  struct Asked {
    IoRequest request;
    std::uint64_t number = 0;
  };
  /// May change what the device inside is asked for.
  virtual void before(IoRequest& /*request*/, std::uint64_t /*number*/) {}
  /// May change what the caller is told.
  virtual void after(IoCompletion& /*completion*/, const Asked& /*asked*/) {}

  /// For destructors of those that lend the device inside memory of their own.
  void close() { inner_.reset(); }

  Result<void> do_submit(const IoRequest& request) override {
    IoRequest passed = request;
    passed.tag = submitted_ + 1;
    before(passed, passed.tag);
    Result<void> started = inner_->submit(passed);
    if (started.has_error()) return started;
    ++submitted_;
    asked_.emplace(submitted_, Asked{request, submitted_});
    return started;
  }

  Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds wait) override {
    Result<std::size_t> count = inner_->poll(out, wait);
    if (count.has_error()) return count;
    for (IoCompletion& completion : out.first(*count)) {
      const auto found = asked_.find(completion.tag);
      FULCRUM_CHECK(found != asked_.end(), "a completion of a request that was never made");
      completion.tag = found->second.request.tag;
      completion.kind = found->second.request.kind;
      after(completion, found->second);
      asked_.erase(found);
    }
    return count;
  }

 private:
  std::unordered_map<std::uint64_t, Asked> asked_;
  std::uint64_t submitted_ = 0;
  std::unique_ptr<Device> inner_;
};

class CountingDevice final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  [[nodiscard]] const std::vector<IoRequest>& requests() const { return requests_; }
  [[nodiscard]] std::size_t in_flight_peak() const { return in_flight_peak_; }
  [[nodiscard]] DeviceIdentity identity() const override {
    ++identified_;
    return PassThrough::identity();
  }
  /// How often it was asked for its identity.
  [[nodiscard]] std::size_t identified() const { return identified_; }

 private:
  void before(IoRequest& request, std::uint64_t /*number*/) override {
    requests_.push_back(request);
    in_flight_peak_ = std::max(in_flight_peak_, in_flight() + 1);
  }
  std::vector<IoRequest> requests_;
  std::size_t in_flight_peak_ = 0;
  mutable std::size_t identified_ = 0;
};

/// Which requests fail. The transfer inside still runs, as it may on a real device that reports an error.
struct FaultPlan {
  int code = 0;                                     ///< the errno to report
  std::optional<std::uint64_t> nth = std::nullopt;  ///< only this one, from 1, among those of `only`
  double probability = 0;                           ///< of each request, where nth is empty
  std::optional<IoKind> only = std::nullopt;        ///< reads or writes only
  std::uint64_t seed = 1;
};

class FaultyDevice final : public PassThrough {
 public:
  FaultyDevice(std::unique_ptr<Device> inner, FaultPlan plan)
      : PassThrough(std::move(inner)), plan_(plan), random_(plan.seed) {}
  [[nodiscard]] std::uint64_t injected() const { return injected_; }

 private:
  void before(IoRequest& request, std::uint64_t number) override {
    if (plan_.only && *plan_.only != request.kind) return;
    ++eligible_;
    const bool hit = plan_.nth ? eligible_ == *plan_.nth : random_.uniform() < plan_.probability;
    if (hit) doomed_.push_back(number);
  }
  void after(IoCompletion& completion, const Asked& asked) override {
    const auto found = std::find(doomed_.begin(), doomed_.end(), asked.number);
    if (found == doomed_.end()) return;
    doomed_.erase(found);
    ++injected_;
    completion.bytes = 0;
    completion.result = os_error(plan_.code, std::string(to_string(asked.request.kind)), "faulty device");
  }
  FaultPlan plan_;
  Random random_;
  std::vector<std::uint64_t> doomed_;
  std::uint64_t eligible_ = 0;
  std::uint64_t injected_ = 0;
};

class SlowDevice final : public PassThrough {
 public:
  /// `clock` is slept on where a caller waits: a ManualClock moves on at once.
  SlowDevice(std::unique_ptr<Device> inner, Clock& clock, Seconds delay)
      : PassThrough(std::move(inner)), clock_(clock), delay_(delay) {}

 private:
  Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds wait) override {
    const Seconds deadline = clock_.now() + wait;
    for (;;) {
      if (Result<void> taken = take(held_.empty() ? deadline - clock_.now() : Seconds(0));
          taken.has_error()) {
        return taken.error();
      }
      const Seconds now = clock_.now();
      std::size_t count = 0;
      for (; count < out.size() && !held_.empty() && held_.front().release <= now; held_.pop_front()) {
        out[count++] = std::move(held_.front().completion);
      }
      if (count > 0 || now >= deadline) return count;
      if (!held_.empty())
        clock_.sleep(std::min(held_.front().release, deadline) - now);
      else if (inner().in_flight() == 0)
        return std::size_t{0};
    }
  }
  /// Moves what ended inside into the queue of those held back.
  Result<void> take(Seconds wait) {
    for (;; wait = Seconds(0)) {
      std::vector<IoCompletion> ended(16);
      const Result<std::size_t> count = PassThrough::do_poll(ended, wait);
      if (count.has_error()) return count.error();
      if (*count == 0) return {};
      for (std::size_t i = 0; i < *count; ++i) {
        ended[i].latency += delay_;
        held_.push_back({clock_.now() + delay_, std::move(ended[i])});
      }
    }
  }
  struct Held {
    Seconds release;
    IoCompletion completion;
  };
  Clock& clock_;
  Seconds delay_;
  std::deque<Held> held_;
};

enum class Lie {
  flipped_byte,       ///< reads come back with one byte changed
  lost_write,         ///< writes are reported and not done
  misdirected_write,  ///< writes land one aligned block further on
};

/// Lies about every `every`-th request of the kind concerned.
class LyingDevice final : public PassThrough {
 public:
  LyingDevice(std::unique_ptr<Device> inner, Lie lie, std::uint64_t every = 1)
      : PassThrough(std::move(inner)), lie_(lie), every_(every) {}
  ~LyingDevice() override { close(); }
  [[nodiscard]] std::uint64_t lies() const { return lies_; }

 private:
  void before(IoRequest& request, std::uint64_t /*number*/) override {
    if (request.kind != IoKind::write || lie_ == Lie::flipped_byte || ++eligible_ % every_ != 0) return;
    const Geometry limits = geometry();
    const auto size = static_cast<std::int64_t>(request.buffer.size());
    const auto step = static_cast<std::int64_t>(limits.alignment);
    if (lie_ == Lie::misdirected_write) {
      const std::int64_t end = request.offset + size - limits.head.value();
      const bool last_of_file = end == 0 || (limits.piece > Bytes(0) && end % limits.piece.value() == 0);
      if (last_of_file || request.offset + size + step > limits.capacity.value()) return;
      request.offset += step;
    } else {
      auto scratch = AlignedBuffer::allocate(request.buffer.size());
      FULCRUM_CHECK(scratch.has_value(), "memory for a lost write");
      request.kind = IoKind::read;
      request.buffer = scratch->span().first(request.buffer.size());
      scratch_.push_back(std::move(*scratch));
    }
    ++lies_;
  }
  void after(IoCompletion& completion, const Asked& asked) override {
    if (lie_ != Lie::flipped_byte || asked.request.kind != IoKind::read) return;
    if (completion.result.has_error() || ++eligible_ % every_ != 0) return;
    asked.request.buffer[asked.request.buffer.size() / 2] ^= std::byte{0x10};
    ++lies_;
  }
  Lie lie_;
  std::uint64_t every_;
  std::uint64_t eligible_ = 0;
  std::uint64_t lies_ = 0;
  std::vector<AlignedBuffer> scratch_;  ///< where lost writes go; kept until the device is gone
};

}  // namespace fulcrum::test
