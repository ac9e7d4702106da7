#include "calibrate/tally.h"

#include <algorithm>

#include "calibrate/stats.h"

namespace fulcrum::calibrate {

void Tally::begin(Seconds now, Seconds cpu) {
  started_ = now;
  cpu_ = cpu;
  moved_ = Bytes(0);
  batches_.clear();
  latencies_.clear();
  for (Stream& stream : streams_) {
    stream.from = stream.seen ? stream.last : now;
    stream.moved = Bytes(0);
  }
}

void Tally::add(std::size_t stream, Seconds now, Bytes bytes, Seconds latency) {
  if (stream >= streams_.size()) streams_.resize(stream + 1, {started_, started_, Bytes(0), false});
  streams_[stream].last = now;
  streams_[stream].moved += bytes;
  streams_[stream].seen = true;
  moved_ += bytes;
  latencies_.push_back(latency.value());
  if (batches_.empty() || batches_.back().at < now) {
    batches_.push_back({now, moved_});
  } else {
    batches_.back().moved = moved_;
  }
}

double Tally::second_half() const {
  const Seconds middle = started_ + (batches_.back().at - started_) / 2;
  const auto half =
      std::find_if(batches_.begin(), batches_.end(), [&](const Batch& batch) { return batch.at >= middle; });
  const Seconds later = batches_.back().at - half->at;
  if (!(later > Seconds(0)) || !(half->at > started_)) return 1;
  const double first = (half->moved / (half->at - started_)).value();
  const double second = ((batches_.back().moved - half->moved) / later).value();
  return second / first;
}

RunResult Tally::result(Seconds cpu) const {
  RunResult sum;
  sum.wrong_sectors = wrong_sectors_;
  if (batches_.empty() || !(batches_.back().at > started_)) return sum;
  sum.time = batches_.back().at - started_;
  sum.bytes = batches_.back().moved;
  for (const Stream& stream : streams_) {
    if (stream.last > stream.from) sum.rate += stream.moved / (stream.last - stream.from);
  }
  sum.latency_p50 = Seconds(quantile(latencies_, 0.5));
  sum.latency_p99 = Seconds(quantile(latencies_, 0.99));
  sum.cpu_share = (cpu - cpu_) / sum.time;
  sum.second_half = second_half();
  return sum;
}

}  // namespace fulcrum::calibrate
