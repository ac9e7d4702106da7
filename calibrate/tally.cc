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
}

void Tally::add(Bytes bytes, Seconds latency, std::int64_t wrong_sectors) {
  moved_ += bytes;
  latencies_.push_back(latency.value());
  wrong_sectors_ += wrong_sectors;
}

void Tally::close_batch(Seconds now) {
  if (batches_.empty() || batches_.back().moved != moved_) batches_.push_back({now, moved_});
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
  sum.rate = sum.bytes / sum.time;
  sum.latency_p50 = Seconds(quantile(latencies_, 0.5));
  sum.latency_p99 = Seconds(quantile(latencies_, 0.99));
  sum.cpu_share = (cpu - cpu_) / sum.time;
  sum.second_half = second_half();
  return sum;
}

}  // namespace fulcrum::calibrate
