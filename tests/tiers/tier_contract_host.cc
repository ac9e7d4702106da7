#include "tests/tiers/tier_contract_host.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/random.h"

namespace fulcrum::test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr Seconds kPatience{0.2};
constexpr int kEmptyPollsMax = 100;
constexpr std::byte kGuard{0xA5};

std::size_t stride_of(const Tier& tier) {
  return (static_cast<std::size_t>(tier.row_bytes().value()) + kPage - 1) / kPage * kPage;
}

bool guards_hold(const HostJob& job, std::size_t stride) {
  return std::ranges::all_of(job.rows, [stride](const std::byte* row) {
    return std::all_of(row + stride, row + stride + kPage, [](std::byte b) { return b == kGuard; });
  });
}

}  // namespace

Chain Chain::part(std::size_t begin, std::size_t count) const {
  const auto from = keys.begin() + static_cast<std::ptrdiff_t>(begin);
  return {begin == 0 ? parent : keys[begin - 1],
          first + static_cast<std::uint32_t>(begin),
          {from, from + static_cast<std::ptrdiff_t>(count)}};
}

BlockKey chain_root() {
  return BlockKey::root({"contract", "rows", "bytes", 1, ""});
}

Chain make_chain(std::size_t blocks, std::int32_t seed) {
  return make_branch({chain_root(), 0, {}}, 0, blocks, seed);
}

Chain make_branch(const Chain& trunk, std::size_t at, std::size_t blocks, std::int32_t seed) {
  Chain chain{at == 0 ? trunk.parent : trunk.keys[at - 1], trunk.first + static_cast<std::uint32_t>(at), {}};
  BlockKey last = chain.parent;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::array tokens{seed, static_cast<std::int32_t>(i)};
    last = BlockKey::next(last, tokens);
    chain.keys.push_back(last);
  }
  return chain;
}

void fill_content(const BlockKey& key, std::span<std::byte> row) {
  Random(key.low).fill(row);
}

TierHost::~TierHost() {
  if (running_ == 0) return;
  // A tier that never ended a job may still write there: better kept for ever than another test's memory
  // spoilt.
  static auto& kept = *new std::vector<std::map<JobId, HostJob>>;
  kept.push_back(std::move(jobs_));
}

void TierHost::expect(bool holds, const std::string& otherwise) {
  if (!holds) violations_.push_back(otherwise);
}

HostJob TierHost::make_job(bool reads, const Chain& chain) const {
  const std::size_t stride = stride_of(tier_);
  HostJob job;
  job.reads = reads;
  job.chain = chain;
  auto memory = AlignedBuffer::allocate(std::max<std::size_t>(1, chain.keys.size() * (stride + kPage)));
  if (memory.has_error()) throw_exception_from_error(memory.error(), BOOST_CURRENT_LOCATION);
  job.memory = std::move(*memory);
  std::ranges::fill(job.memory.span(), kGuard);
  for (std::size_t i = 0; i < chain.keys.size(); ++i) {
    job.rows.push_back(job.memory.data() + i * (stride + kPage));
    if (!reads)
      fill_content(chain.keys[i], {job.rows.back(), static_cast<std::size_t>(tier_.row_bytes().value())});
  }
  return job;
}

Result<void> TierHost::try_write(const Chain& chain, float worth, JobId& id) {
  HostJob job = make_job(false, chain);
  TierWrite write;
  write.id = id = next_++;
  write.parent = chain.parent;
  write.first = chain.first;
  write.keys = chain.keys;
  write.rows.assign(job.rows.begin(), job.rows.end());
  write.worth = worth;
  Result<void> started = tier_.write(std::move(write));
  if (started.has_error()) return started;
  jobs_.emplace(id, std::move(job));
  ++running_;
  return started;
}

Result<void> TierHost::try_read(const Chain& chain, Urgency urgency, JobId& id) {
  HostJob job = make_job(true, chain);
  TierRead read;
  read.id = id = next_++;
  read.urgency = urgency;
  read.keys = chain.keys;
  read.rows = job.rows;
  Result<void> started = tier_.read(std::move(read));
  if (started.has_error()) return started;
  jobs_.emplace(id, std::move(job));
  ++running_;
  return started;
}

JobId TierHost::write(const Chain& chain, float worth) {
  JobId id = 0;
  const Result<void> started = try_write(chain, worth, id);
  if (!started.has_error()) return id;
  expect(false, "a write was refused: " + started.error().message());
  return 0;
}

JobId TierHost::read(const Chain& chain, Urgency urgency) {
  JobId id = 0;
  const Result<void> started = try_read(chain, urgency, id);
  if (!started.has_error()) return id;
  expect(false, "a read was refused: " + started.error().message());
  return 0;
}

void TierHost::erase(const std::vector<BlockKey>& keys) {
  tier_.erase(keys);
  for (auto& [id, running] : jobs_) {
    if (running.ends == 0) running.erased.insert(keys.begin(), keys.end());
  }
}

const std::set<BlockKey>& TierHost::lost() {
  const std::vector<BlockKey> more = tier_.take_lost();
  lost_.insert(more.begin(), more.end());
  return lost_;
}

bool TierHost::poll(Seconds wait) {
  std::array<TierEvent, 5> events;
  const std::size_t count = tier_.poll(events, wait);
  for (const TierEvent& event : std::span(events).first(count)) on_event(event);
  return count > 0;
}

void TierHost::on_event(const TierEvent& event) {
  const std::string name = "job " + std::to_string(event.id);
  const auto found = jobs_.find(event.id);
  if (found == jobs_.end()) return expect(false, name + " has an event and was never started");
  HostJob& job = found->second;
  expect(job.ends == 0, name + " has an event after its end");
  expect(event.blocks >= job.blocks, name + " went back from block " + std::to_string(job.blocks));
  expect(event.blocks <= job.chain.keys.size(), name + " counts more blocks than it has");
  expect(event.elapsed >= Seconds(0), name + " took negative time");
  if (!violations_.empty()) return;
  if (job.reads) check_rows(job, job.blocks, event.blocks);
  for (std::uint32_t i = job.blocks; !job.reads && i < event.blocks; ++i) {
    const BlockKey& key = job.chain.keys[i];
    const bool there = tier_.contains(key) || job.erased.count(key) != 0 || lost().count(key) != 0;
    expect(there, name + " reported block " + std::to_string(i) + ", which is not there");
  }
  if (job.reads) {  // counted rows are the caller's again
    for (std::uint32_t i = job.blocks; i < event.blocks; ++i) *job.rows[i] ^= std::byte{0xFF};
  }
  job.blocks = event.blocks;
  if (!event.ended) return expect(!event.result.has_error(), name + " failed and goes on");
  ++job.ends;
  --running_;
  job.result = event.result;
  const bool whole = job.blocks == job.chain.keys.size();
  expect(event.result.has_error() || whole, name + " succeeded without all of its blocks");
  expect(!event.result.has_error() || !event.result.error().message().empty(),
         name + " failed without a word");
  expect(guards_hold(job, stride_of(tier_)), name + " touched memory outside its rows");
}

void TierHost::check_rows(const HostJob& job, std::uint32_t begin, std::uint32_t end) {
  std::vector<std::byte> right(static_cast<std::size_t>(tier_.row_bytes().value()));
  for (std::uint32_t i = begin; i < end; ++i) {
    fill_content(job.chain.keys[i], right);
    expect(std::memcmp(right.data(), job.rows[i], right.size()) == 0,
           "block " + std::to_string(job.chain.first + i) + " came back with wrong bytes");
  }
}

void TierHost::drain() {
  for (int empty = 0; running_ > 0 && empty < kEmptyPollsMax;) {
    empty = poll(kPatience) ? 0 : empty + 1;
    if (!violations_.empty()) break;
  }
  // Broken already: end what runs, so that its memory can go.
  for (int polls = 0; !violations_.empty() && running_ > 0 && polls < 10; ++polls) poll(kPatience);
  expect(running_ == 0, std::to_string(running_) + " jobs never ended");
  expect(tier_.in_flight() == running_, "in_flight() is wrong");
}

void TierHost::store(const Chain& chain, float worth) {
  const JobId id = write(chain, worth);
  drain();
  if (id == 0 || !violations_.empty()) return;
  expect(!job(id).result.has_error(),
         "a write failed: " + (job(id).result.has_error() ? job(id).result.error().message() : ""));
  std::ranges::fill(job(id).memory.span(), std::byte{0});  // the tier must not look at it any more
}

void TierHost::expect_readable(const Chain& chain) {
  const JobId id = read(chain);
  drain();
  if (id == 0 || !violations_.empty()) return;
  expect(!job(id).result.has_error(),
         "a read failed: " + (job(id).result.has_error() ? job(id).result.error().message() : ""));
}

void TierHost::expect_missing_at(const Chain& chain, std::size_t blocks) {
  const JobId id = read(chain);
  drain();
  if (id == 0 || !violations_.empty()) return;
  const HostJob& over = job(id);
  expect(over.blocks == blocks,
         std::to_string(over.blocks) + " leading blocks came where " + std::to_string(blocks) + " are held");
  expect(over.result.has_error() && over.result.error().kind == ErrorKind::not_found,
         "a missing block is not not_found");
}

}  // namespace fulcrum::test
