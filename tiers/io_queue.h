// IoQueue: what goes to the device next. Between the jobs of a tier and its Device.
//
//  - Ranks: bookkeeping first (it is tiny and others wait for it), then loads, preloads, write-back. Writes
//    are never starved: they earn an eighth of the bytes that reads move, and spend it as they come, on
//    turning disks in whole commits.
//  - At most `budget` bytes are in flight, and one piece where that is more; preloads leave a quarter of it
//    and writes half of it to those before them. Transfers are cut into pieces of `io_size`.
//  - On turning disks each rank is served by place, in one direction, from where the head stands, so that one
//    stream moves at a time; elsewhere in order of arrival.
//
// A piece that was pushed comes back through its client's on_piece() exactly once, unless it was dropped.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tiers/device.h"

namespace fulcrum {

enum class IoRank : std::uint8_t { meta, load, preload, write_back };

class IoClient;

struct IoPiece {
  IoRank rank = IoRank::meta;
  IoRequest request;
  IoClient* client = nullptr;
  std::uint64_t job = 0;     ///< the client's
  std::uint64_t cookie = 0;  ///< likewise
};

class IoClient {
 public:
  virtual void on_piece(const IoPiece& piece, const Result<void>& result) = 0;

 protected:
  ~IoClient() = default;
};

struct IoQueueOptions {
  std::int64_t io_size = 1 << 20;
  std::int64_t budget = 32 << 20;
  std::int64_t write_turn = 1 << 20;  ///< bytes of writes that go together
  bool turning = false;
};

class IoQueue {
 public:
  /// `device` outlives the queue.
  IoQueue(Device& device, const IoQueueOptions& options);

  /// Queues the request of `piece`, cut into pieces of io_size; returns their number.
  std::uint32_t push(const IoPiece& piece);
  /// Forgets pieces of a client's job that have not gone to the device; returns their number, adds their
  /// bytes.
  std::uint32_t drop(const IoClient* client, std::uint64_t job, std::int64_t* bytes = nullptr);
  /// Hands to the device what may go now.
  void pump();
  /// Collects what has ended and tells the clients; waits for the first as Device::poll() does. Also pieces
  /// that the device refused. Kinds: those of Device::poll().
  Result<std::size_t> collect(Seconds wait);

  [[nodiscard]] std::size_t in_flight() const { return in_flight_.size() - vacant_.size(); }
  [[nodiscard]] std::size_t queued() const;
  /// Requests pushed so far.
  [[nodiscard]] std::uint64_t pushed() const { return pushed_; }

 private:
  static constexpr std::size_t kRanks = 4;
  using Waiting = std::multimap<std::int64_t, IoPiece>;

  [[nodiscard]] bool fits(const IoPiece& piece) const;
  [[nodiscard]] bool has_fitting(IoRank rank);
  [[nodiscard]] Waiting::iterator next_of(IoRank rank);
  [[nodiscard]] IoRank turn();
  /// False where the device takes no more.
  bool start(const IoPiece& piece);
  void account(const IoPiece& piece);
  [[nodiscard]] IoPiece take_back(const IoCompletion& done);

  Device& device_;
  IoQueueOptions options_;
  std::array<Waiting, kRanks> waiting_;
  std::int64_t ticket_ = 0;
  std::uint64_t pushed_ = 0;
  std::uint64_t started_ = 0;
  std::vector<IoPiece> in_flight_;  ///< by tag
  std::vector<std::size_t> vacant_;
  std::vector<std::pair<IoPiece, Error>> refused_;
  std::array<std::int64_t, kRanks> bytes_in_flight_{};
  std::int64_t head_ = 0;          ///< where a turning disk stands
  std::int64_t write_credit_ = 0;  ///< bytes that writes may go before reads
  std::int64_t turn_left_ = 0;     ///< of the writes' turn
};

}  // namespace fulcrum
