#include "tiers/file_history.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/clock.h"

namespace fulcrum {
namespace {

constexpr double kDay = 86400;

/// Seconds since 1970 from "2024-05-01T12:00:00Z".
double wall_seconds(const std::string& stamp) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  // NOLINTNEXTLINE(cert-err34-c): the text is our own
  if (std::sscanf(stamp.c_str(), "%d-%u-%uT%d:%d:%d", &year, &month, &day, &hour, &minute, &second) != 6)
    return 0;
  const std::chrono::sys_days date{std::chrono::year(year) / std::chrono::month(month) /
                                   std::chrono::day(day)};
  return static_cast<double>(date.time_since_epoch().count()) * kDay + hour * 3600 + minute * 60 + second;
}

}  // namespace

FileHistory::FileHistory(FileTierCore& core)
    : core_(core),
      wall_start_(core.options.wall > Seconds(0) ? core.options.wall.value() : wall_seconds(utc_stamp())),
      opened_(core.clock.now()) {}

void FileHistory::account() {
  const Bytes written = core_.device.counters().write_bytes;
  const Bytes fresh = written - accounted_;
  accounted_ = written;
  WriteHistory& history = core_.state.history;
  const auto day =
      static_cast<std::int64_t>(std::floor((wall_start_ + (core_.clock.now() - opened_).value()) / kDay));
  // A clock that was set back must not give the day's budget out twice.
  if (day > history.day) {
    history.day = day;
    history.today = Bytes(0);
  }
  history.ever += fresh;
  history.today += fresh;
  core_.tally.medium_written = written;
  core_.tally.medium_read = core_.device.counters().read_bytes;
}

void FileHistory::write_down() {
  constexpr Bytes kNews(std::int64_t{64} << 10);  // telling the history is a write itself
  const bool news = core_.state.history.ever - told_ >= kNews;
  if (!news && !core_.state.index.any_changed() && !core_.closing) return;
  told_ = core_.state.history.ever;
  for (const std::uint32_t id : core_.state.index.take_changed()) {
    const ExtentFacts& extent = core_.state.index.extent(id);
    WorthRecord record{extent.segment, extent.generation, extent.page, extent.used_ms, {}};
    for (const StoredBlock& block : extent.blocks) record.worth.push_back(block.worth);
    core_.journal->append(record);
  }
  core_.journal->append(core_.state.history);
}

}  // namespace fulcrum
