// EngineCore: writing. Rows of the host into the first tier, and from tier to tier.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/core.h"

namespace fulcrum::engine {
void EngineCore::store(StoreRequest request, Seconds now) {
  now_ = active_ = std::max(now, now_);
  ++counts_.stores;
  const StoreId id = next_++;
  const std::vector<BlockKey> chain = request.chain;
  stores_.emplace(id, StoreRecord{.request = std::move(request)});
  if (!closing_) {
    storing_ = id;
    decider_.on_computed(chain, now_);
    carry_out(now_);
    storing_ = 0;
  }
  finish_store(id);
  settle(now_);
}

// Copies rows of the store at hand to where an order wants them.
void EngineCore::take_in(const Order& order, Seconds now) {
  const auto found = stores_.find(storing_);
  const auto blocks = static_cast<std::uint32_t>(order.keys.size());
  const StoreRequest* request = found == stores_.end() ? nullptr : &found->second.request;
  const bool given = request != nullptr && order.first >= request->first &&
                     order.first + blocks <= request->first + request->rows.size();
  CopyRecord copy;
  copy.store = storing_;
  copy.order = order;
  if (given && memory(order.target)) {
    if (std::optional<std::vector<Row>> rows = dram_->reserve(blocks)) copy.reserved = std::move(*rows);
  } else if (given) {
    copy.staged = staging_.take(blocks);
  }
  if (copy.reserved.empty() && copy.staged.empty()) {  // leases or writes hold the room for now
    answer(order.id, OutcomeKind::cancelled, 0, now, now);
    return;
  }
  std::vector<RowCopy> rows;
  const std::size_t room = copy.reserved.size() + copy.staged.size();
  for (std::uint32_t i = 0; i < room; ++i) {
    std::byte* to = copy.reserved.empty() ? copy.staged[i]->data() : copy.reserved[i].data();
    rows.push_back({to, request->rows[order.first - request->first + i]});
  }
  ++found->second.copies;
  begin_copy(std::move(copy), std::move(rows));
}

void EngineCore::taken_in(CopyRecord& copy, Seconds now) {
  const auto blocks = static_cast<std::uint32_t>(copy.reserved.size() + copy.staged.size());
  StoreRecord& store = stores_.at(copy.store);
  --store.copies;
  store.kept += blocks;
  const BlockKey parent = copy.order.first == 0 ? parts_.root : copy.order.parent;
  if (memory(copy.order.target)) {
    dram_->publish(parent, copy.order.first, copy.order.keys, std::move(copy.reserved),
                   static_cast<float>(copy.order.worth));
    answer(copy.order.id, OutcomeKind::done, blocks, now, now);
  } else {
    std::vector<Lease> rows(copy.staged.begin(), copy.staged.end());
    write_out(copy.order, std::move(rows), now);
  }
  finish_store(copy.store);
}

void EngineCore::finish_store(StoreId id) {
  const auto found = stores_.find(id);
  if (found == stores_.end() || found->second.copies > 0 || storing_ == id) return;
  StoreRecord record = std::move(found->second);
  stores_.erase(found);
  if (!record.request.on_done) return;
  const StoreOutcome outcome{.offered = static_cast<std::uint32_t>(record.request.rows.size()),
                             .kept = record.kept};
  parts_.on_engine([done = std::move(record.request.on_done), outcome] { done(outcome); });
}

void EngineCore::demote(const Order& order, Seconds now) {
  if (memory(order.source)) {
    std::vector<Lease> rows;
    for (const BlockKey& key : order.keys) {
      Lease row = dram_->lease(key);
      if (!row) break;
      rows.push_back(std::move(row));
    }
    write_out(order, std::move(rows), now);
    return;
  }
  Relay relay{.order = order, .rows = staging_.take(order.keys.size())};
  if (relay.rows.empty()) {
    later_.push_back({order.id, OutcomeKind::cancelled, 0, Seconds(0)});
    return;
  }
  TierRead read;
  read.urgency = Urgency::write_back;
  for (const StagedRow& row : relay.rows) read.rows.push_back(row->data());
  read.keys.assign(order.keys.begin(), order.keys.begin() + static_cast<std::ptrdiff_t>(relay.rows.size()));
  Job job;
  job.relay = std::move(relay);
  read.id = begin_job(order.source, std::move(job), now);
  tier(order.source).port->read(std::move(read));
}

void EngineCore::on_relay(Job& job, const TierEvent& event, Seconds now) {
  if (!event.ended) return;
  Relay relay = std::move(*job.relay);
  relay.rows.resize(std::min<std::size_t>(relay.rows.size(), event.blocks));
  write_out(relay.order, {relay.rows.begin(), relay.rows.end()}, now);
}

// Writes the leading blocks of an order that there are rows for.
void EngineCore::write_out(const Order& order, std::vector<Lease> rows, Seconds now) {
  if (rows.empty()) {
    later_.push_back({order.id, OutcomeKind::cancelled, 0, Seconds(0)});
    return;
  }
  TierWrite write;
  write.parent = order.first == 0 ? parts_.root : order.parent;
  write.first = order.first;
  write.keys.assign(order.keys.begin(), order.keys.begin() + static_cast<std::ptrdiff_t>(rows.size()));
  for (const Lease& row : rows) write.rows.push_back(row->data());
  write.worth = static_cast<float>(order.worth);
  writing_ += parts_.row_bytes * static_cast<std::int64_t>(rows.size());
  Job job;
  job.write = WriteJob{
      .order = order.id, .rows = std::move(rows), .ordered = static_cast<std::uint32_t>(order.keys.size())};
  write.id = begin_job(order.target, std::move(job), now);
  tier(order.target).port->write(std::move(write));
}

void EngineCore::on_write(Job& job, const TierEvent& event, Seconds now) {
  if (!event.ended) return;
  const WriteJob& write = *job.write;
  writing_ -= parts_.row_bytes * static_cast<std::int64_t>(write.rows.size());
  // A tier that could not write says nothing of the source: never OutcomeKind::failed.
  const OutcomeKind kind = event.blocks == write.ordered ? OutcomeKind::done
                           : event.blocks > 0            ? OutcomeKind::partial
                                                         : OutcomeKind::cancelled;
  if (kind == OutcomeKind::done) {
    answer(write.order, kind, event.blocks, job.given, now);
  } else {  // not at once: the decider would order the same again
    later_.push_back({write.order, kind, event.blocks, now - job.given});
  }
}

}  // namespace fulcrum::engine
