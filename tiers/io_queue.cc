#include "tiers/io_queue.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr std::int64_t kWriteShare = 8;  // of the bytes, one in so many is kept for writes
constexpr std::size_t kMetaDepth = 4;    // requests that only bookkeeping may use
constexpr std::size_t kCollected = 4;    // at a time: clients take long over each

std::size_t index(IoRank rank) {
  return static_cast<std::size_t>(rank);
}

bool moves(const IoPiece& piece) {
  return piece.request.kind == IoKind::read || piece.request.kind == IoKind::write;
}

}  // namespace

IoQueue::IoQueue(Device& device, const IoQueueOptions& options) : device_(device), options_(options) {
  const auto alignment = static_cast<std::int64_t>(device.geometry().alignment);
  options_.io_size = std::max(options_.io_size / alignment * alignment, alignment);
}

std::uint32_t IoQueue::push(const IoPiece& piece) {
  std::uint32_t count = 0;
  ++pushed_;
  const auto queue = [&](const IoPiece& one) {
    const bool by_place = options_.turning && one.rank != IoRank::meta;
    waiting_[index(one.rank)].emplace(by_place ? one.request.offset : ticket_++, one);
    ++count;
  };
  if (!moves(piece)) {
    queue(piece);
    return count;
  }
  const auto size = static_cast<std::int64_t>(piece.request.buffer.size());
  for (std::int64_t at = 0; at < size; at += options_.io_size) {
    IoPiece part = piece;
    part.request.offset += at;
    part.request.buffer = piece.request.buffer.subspan(
        static_cast<std::size_t>(at), static_cast<std::size_t>(std::min(options_.io_size, size - at)));
    queue(part);
  }
  return count;
}

std::uint32_t IoQueue::drop(const IoClient* client, std::uint64_t job, std::int64_t* bytes) {
  std::uint32_t count = 0;
  for (Waiting& waiting : waiting_) {
    count += static_cast<std::uint32_t>(std::erase_if(waiting, [&](const auto& entry) {
      const bool drops = entry.second.client == client && entry.second.job == job;
      if (drops && bytes != nullptr) *bytes += static_cast<std::int64_t>(entry.second.request.buffer.size());
      return drops;
    }));
  }
  return count;
}

std::size_t IoQueue::queued() const {
  std::size_t count = 0;
  for (const Waiting& waiting : waiting_) count += waiting.size();
  return count;
}

bool IoQueue::fits(const IoPiece& piece) const {
  const std::size_t depth = device_.geometry().depth_max;
  if (piece.rank == IoRank::meta) return device_.in_flight() < depth;
  if (in_flight() == 0) return true;
  if (device_.in_flight() + std::min(kMetaDepth, depth / 2) >= depth) return false;
  const auto size = static_cast<std::int64_t>(piece.request.buffer.size());
  const std::int64_t all = std::accumulate(bytes_in_flight_.begin(), bytes_in_flight_.end(), size);
  if (piece.rank == IoRank::preload) return all <= options_.budget - options_.budget / 4;
  const std::int64_t writes = bytes_in_flight_[index(IoRank::write_back)];
  if (piece.rank == IoRank::write_back && writes > 0 && writes + size > options_.budget / 2) return false;
  return all <= options_.budget;
}

bool IoQueue::has_fitting(IoRank rank) {
  return !waiting_[index(rank)].empty() && fits(next_of(rank)->second);
}

IoQueue::Waiting::iterator IoQueue::next_of(IoRank rank) {
  Waiting& waiting = waiting_[index(rank)];
  if (!options_.turning || rank == IoRank::meta) return waiting.begin();
  const auto ahead = waiting.lower_bound(head_);
  return ahead == waiting.end() ? waiting.begin() : ahead;
}

IoRank IoQueue::turn() {
  if (!waiting_[index(IoRank::meta)].empty()) return IoRank::meta;
  const bool writes = has_fitting(IoRank::write_back);
  if (writes && turn_left_ > 0) return IoRank::write_back;
  if (writes && write_credit_ >= options_.write_turn) {
    write_credit_ -= options_.write_turn;
    turn_left_ = options_.write_turn;
    return IoRank::write_back;
  }
  for (const IoRank rank : {IoRank::load, IoRank::preload}) {
    if (!waiting_[index(rank)].empty()) return rank;
  }
  return IoRank::write_back;
}

void IoQueue::account(const IoPiece& piece) {
  const auto size = static_cast<std::int64_t>(piece.request.buffer.size());
  if (piece.rank == IoRank::meta) return;
  bytes_in_flight_[index(piece.rank)] += size;
  head_ = piece.request.offset + size;
  if (piece.rank == IoRank::write_back) {
    turn_left_ = std::max<std::int64_t>(0, turn_left_ - size);
  } else if (!waiting_[index(IoRank::write_back)].empty()) {
    write_credit_ += size / (kWriteShare - 1);
  }
}

bool IoQueue::start(const IoPiece& piece) {
  std::size_t tag = in_flight_.size();
  if (vacant_.empty()) {
    in_flight_.emplace_back();
  } else {
    tag = vacant_.back();
    vacant_.pop_back();
  }
  in_flight_[tag] = piece;
  in_flight_[tag].request.tag = tag;
  const Result<void> started = device_.submit(in_flight_[tag].request);
  if (!started.has_error()) {
    account(piece);
    ++started_;
    return true;
  }
  vacant_.push_back(tag);
  if (started.error().kind == ErrorKind::busy) return false;
  refused_.emplace_back(piece, started.error());
  return true;
}

void IoQueue::pump() {
  while (queued() > 0) {
    const IoRank rank = turn();
    const auto next = next_of(rank);
    if (!fits(next->second) || !start(next->second)) return;
    waiting_[index(rank)].erase(next);
  }
}

IoPiece IoQueue::take_back(const IoCompletion& done) {
  FULCRUM_CHECK(done.tag < in_flight_.size(), "a completion of a request that was never made");
  const IoPiece piece = in_flight_[done.tag];
  FULCRUM_CHECK(piece.client != nullptr, "a completion that came twice");
  in_flight_[done.tag].client = nullptr;
  vacant_.push_back(done.tag);
  if (piece.rank != IoRank::meta) {
    bytes_in_flight_[index(piece.rank)] -= static_cast<std::int64_t>(piece.request.buffer.size());
  }
  return piece;
}

// The device gets its next requests before the clients look at what has come: checksums of a few rows take as
// long as it needs for what it still has.
Result<std::size_t> IoQueue::collect(Seconds wait) {
  for (const auto& [piece, error] : std::exchange(refused_, {})) piece.client->on_piece(piece, error);
  std::array<IoCompletion, 2 * kCollected> done;
  std::array<IoPiece, 2 * kCollected> pieces;
  const auto poll = [&](std::size_t from, Seconds limit) {
    auto count = device_.poll(std::span(done).subspan(from, kCollected), limit);
    for (std::size_t i = 0; count && i < *count; ++i) pieces[from + i] = take_back(done[from + i]);
    return count;
  };
  Result<std::size_t> first = poll(0, wait);
  if (first.has_error()) return first;
  const std::uint64_t before = started_;
  if (*first > 0) pump();
  Result<std::size_t> more = started_ == before ? std::size_t{0} : poll(*first, Seconds(0));
  const std::size_t count = *first + (more ? *more : 0);
  for (std::size_t i = 0; i < count; ++i) pieces[i].client->on_piece(pieces[i], done[i].result);
  if (more.has_error()) return more;
  return count;
}

}  // namespace fulcrum
