#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/document.h"
#include "base/errors.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/printable.h"
#include "cli/stop_signal.h"
#include "tiers/store_check.h"
#include "tiers/store_image.h"

namespace fulcrum::cli {
namespace {

using nlohmann::json;

// What is listed for people; JSON has all.
constexpr std::size_t kListed = 20;

struct FsckOptions {
  std::string directory;
  std::string json;
  bool quarantine = false;
};

std::string count(std::uint64_t n, const std::string& thing) {
  return format(Tokens(static_cast<std::int64_t>(n))) + " " + thing + (n == 1 ? "" : "s");
}

std::string hex(const BlockKey& key) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(key.high),
                static_cast<unsigned long long>(key.low));
  return text.data();
}

std::string place(std::uint32_t segment, Bytes offset) {
  return "segment " + std::to_string(segment) + " offset " + std::to_string(offset.value());
}

class Findings {
 public:
  Findings(const StoreImage& image, const CheckReport& report) : report_(report) {
    for (const std::size_t slot : {0U, 1U}) {
      if (!image.superblock_faults[slot].empty()) {
        superblocks_.push_back("superblock " + std::to_string(slot) +
                               " of two: " + image.superblock_faults[slot]);
      }
    }
    journal_damaged_ = image.journal_damaged();
    lost_records_ = image.lost_records;
    meta_cut_ = image.meta_cut;
  }

  [[nodiscard]] bool damage() const {
    return !superblocks_.empty() || journal_damaged_ || !report_.damaged_rows.empty() ||
           !report_.damaged_headers.empty();
  }
  /// Blocks that would be served from damaged places.
  [[nodiscard]] std::vector<BlockKey> damaged_blocks() const {
    std::vector<BlockKey> keys;
    for (const DamagedRow& row : report_.damaged_rows) keys.push_back(row.key);
    for (const DamagedHeader& header : report_.damaged_headers) {
      keys.insert(keys.end(), header.blocks.begin(), header.blocks.end());
    }
    return keys;
  }

  void print(std::ostream& out) const {
    for (const std::string& fault : superblocks_) out << "damaged: " << fault << '\n';
    if (journal_damaged_) {
      out << "damaged: journal: " << count(lost_records_, "record") << " damaged or behind damage"
          << (meta_cut_ ? "; the file 'meta' was cut short\n" : "\n");
    } else if (lost_records_ > 0) {
      out << "torn tail: the last record of the journal was not written whole, as a crash leaves it\n";
    }
    std::size_t listed = 0;
    for (const DamagedHeader& header : report_.damaged_headers) {
      if (++listed > kListed) break;
      out << "damaged: header of " << count(header.blocks.size(), "block") << ", "
          << place(header.segment, header.offset) << ": " << printable(header.what) << '\n';
    }
    for (const DamagedRow& row : report_.damaged_rows) {
      if (++listed > kListed) break;
      out << "damaged: block " << hex(row.key) << ", " << place(row.segment, row.offset) << ": "
          << printable(row.what) << '\n';
    }
    const std::size_t all = report_.damaged_headers.size() + report_.damaged_rows.size();
    if (all > kListed) out << "... and " << count(all - kListed, "place") << " more, see --json\n";
    if (report_.orphan_extents > 0) {
      out << "orphans: " << count(report_.orphan_extents, "extent") << " of "
          << count(report_.orphan_rows, "block") << " were written and never published; they harm nobody\n";
    }
  }

  [[nodiscard]] json to_json() const {
    json out;
    out["damage"] = damage();
    out["superblocks"] = superblocks_;
    out["journal"] = {{"damaged", journal_damaged_},
                      {"meta_cut", meta_cut_},
                      {"torn_tail", !journal_damaged_ && lost_records_ > 0},
                      {"lost_records", lost_records_}};
    out["damaged_headers"] = json::array();
    for (const DamagedHeader& header : report_.damaged_headers) {
      out["damaged_headers"].push_back({{"segment", header.segment},
                                        {"offset", header.offset.value()},
                                        {"blocks", header.blocks.size()},
                                        {"what", header.what}});
    }
    out["damaged_rows"] = json::array();
    for (const DamagedRow& row : report_.damaged_rows) {
      out["damaged_rows"].push_back({{"key", hex(row.key)},
                                     {"segment", row.segment},
                                     {"offset", row.offset.value()},
                                     {"what", row.what}});
    }
    out["orphan_extents"] = report_.orphan_extents;
    out["orphan_blocks"] = report_.orphan_rows;
    out["extents"] = report_.extents;
    out["rows"] = report_.rows;
    out["read_B"] = report_.bytes.value();
    out["elapsed_s"] = report_.elapsed.value();
    return out;
  }

 private:
  const CheckReport& report_;
  std::vector<std::string> superblocks_;
  bool journal_damaged_ = false;
  std::uint64_t lost_records_ = 0;
  bool meta_cut_ = false;
};

/// A line that is written over, on a terminal only.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void show(const CheckProgress& progress, Seconds elapsed) {
    if (isatty(STDERR_FILENO) == 0 || progress.total == Bytes(0)) return;
    shown_ = true;
    const BytesPerSecond rate = elapsed > Seconds(0) ? progress.done / elapsed : BytesPerSecond(0);
    std::fprintf(stderr, "\r%s of %s verified, %s, %llu damaged\033[K", format(progress.done).c_str(),
                 format(progress.total).c_str(), format(rate).c_str(),
                 static_cast<unsigned long long>(progress.damaged));
  }

 private:
  bool shown_ = false;
};

Result<CheckReport> check(StoreImage& image, Clock& clock) {
  const StopSignal stop;
  ProgressLine line;
  const Seconds start = clock.now();
  return check_store(image, clock, [&](const CheckProgress& progress) {
    line.show(progress, clock.now() - start);
    return !stop.raised();
  });
}

int run(const FsckOptions& options) {
  if (auto writable = check_outputs({options.json}); !writable) return cannot_look(writable.error());
  SteadyClock clock;
  const StoreAccess access = options.quarantine ? StoreAccess::repair : StoreAccess::verify;
  const auto image = StoreImage::open(options.directory, access, clock);
  if (!image) return cannot_look(image.error());
  const auto report = check(**image, clock);
  if (!report) return cannot_look(report.error());
  const Findings findings(**image, *report);
  std::ostream& out = table_stream(options.json);
  findings.print(out);
  out << count(report->rows, "block") << " in " << count(report->extents, "extent") << " verified, "
      << format(report->bytes) << " at " << format(report->bytes / std::max(report->elapsed, Seconds(1e-6)))
      << ": " << (findings.damage() ? "DAMAGED" : "clean") << '\n';
  json result = findings.to_json();
  result["directory"] = options.directory;
  result["quarantined"] = 0;
  if (options.quarantine && findings.damage()) {
    const auto taken = (*image)->forget(findings.damaged_blocks(), clock);
    if (!taken) return cannot_look(taken.error());
    result["quarantined"] = *taken;
    out << count(*taken, "block") << " taken out: they are misses from now on\n";
  } else if (findings.damage()) {
    out << "none of it is served as it is: rows are verified when they are read. To take it out for good:\n"
        << "  fulcrum fsck --quarantine " << printable(options.directory) << '\n';
  }
  if (!options.json.empty()) {
    const std::string text = result.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
    if (auto written = write_text(options.json, text); !written) return cannot_look(written.error());
  }
  return findings.damage() ? kFailed : kOk;
}

}  // namespace

void add_fsck(CLI::App& program, Action& action) {
  auto options = std::make_shared<FsckOptions>();
  CLI::App* command = program.add_subcommand("fsck", "Verify every byte that a file tier holds");
  command->add_option("directory", options->directory, "Directory of a file tier")->required();
  command->add_flag("--quarantine,--repair", options->quarantine,
                    "Take damaged blocks out of the journal, so that they are misses");
  command->add_option("--json", options->json,
                      "Also write the findings as JSON to this file; - for standard output");
  command->footer(
      "Exit codes of fsck: 0 clean, 1 damage found (also where it was taken out), 2 it could not look: bad\n"
      "input, or an engine holds the store. The engine need not wait for fsck: what is damaged is a miss.");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fulcrum::cli
