#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/document.h"
#include "base/errors.h"
#include "calibrate/stats.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/printable.h"
#include "tiers/owner_lock.h"
#include "tiers/store_image.h"

namespace fulcrum::cli {
namespace {

using nlohmann::json;

constexpr std::array kQuantiles = {0.0, 0.1, 0.5, 0.9, 1.0};

std::string_view name_of(SegmentState state) {
  switch (state) {
    case SegmentState::open:
      return "open";
    case SegmentState::sealed:
      return "sealed";
    case SegmentState::free:
      return "free";
    default:
      return "unused";
  }
}

/// What one segment's file is filled with. Bytes behind the head are free.
struct SegmentFill {
  std::uint32_t number = 0;
  SegmentState state = SegmentState::ungrown;
  std::uint32_t generation = 0;
  std::uint64_t blocks = 0;
  Bytes live{};
  Bytes dead{};
  Bytes free{};
};

struct Contents {
  std::vector<SegmentFill> segments;
  SegmentFill all;
  std::vector<double> ages;   ///< of blocks, in seconds
  std::vector<double> worth;  ///< of blocks, log2
  std::string holder;         ///< empty: nobody
};

SegmentFill fill_of(const StoreImage& image, std::uint32_t number, Contents& contents) {
  const Segment& segment = image.state.segments[number];
  SegmentFill fill{number, segment.state, segment.generation, 0, {}, {}, {}};
  Bytes headers{};
  for (const ExtentIndex::ExtentId id : image.state.index.in_segment(number)) {
    const ExtentFacts& extent = image.state.index.extent(id);
    headers += Bytes(kPage);
    const auto age = static_cast<double>(image.state.time_ms - std::min(image.state.time_ms, extent.used_ms));
    for (const StoredBlock& block : extent.blocks) {
      if (!block.live()) continue;
      ++fill.blocks;
      contents.ages.push_back(age * 1e-3);
      contents.worth.push_back(static_cast<double>(block.worth));
    }
  }
  const Bytes head(static_cast<std::int64_t>(segment.head) * static_cast<std::int64_t>(kPage));
  fill.live = Bytes(image.superblock.layout.stride()) * static_cast<std::int64_t>(fill.blocks);
  fill.dead = head - fill.live - headers;
  if (segment.state != SegmentState::ungrown) fill.free = image.superblock.layout.segment_bytes - head;
  return fill;
}

Contents contents_of(const StoreImage& image) {
  Contents contents;
  for (std::uint32_t i = 0; i < image.superblock.layout.segments; ++i) {
    const SegmentFill fill = fill_of(image, i, contents);
    contents.all.blocks += fill.blocks;
    contents.all.live += fill.live;
    contents.all.dead += fill.dead;
    contents.all.free += fill.free;
    contents.segments.push_back(fill);
  }
  const auto lock = OwnerLock::take(image.directory, OwnerLock::Share::reading);
  if (lock.has_error() && lock.error().kind == ErrorKind::busy) contents.holder = lock.error().detail;
  return contents;
}

std::string date_of(std::int64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text.data();
}

std::string text(double seconds) {
  return format(Seconds(seconds));
}
std::string count(std::uint64_t n) {
  return format(Tokens(static_cast<std::int64_t>(n)));
}

void print_head(std::ostream& out, const StoreImage& image, const Contents& contents) {
  const Superblock& super = image.superblock;
  out << "store in " << printable(image.directory) << ", format " << kFormatMajor << '.' << super.minor
      << "\n  namespace    " << printable(super.model) << ", " << printable(super.layout_name) << ", "
      << printable(super.dtype) << ", " << super.ranks << (super.ranks == 1 ? " rank" : " ranks")
      << "\n  block        " << format(super.layout.row_bytes) << "\n  holder       ";
  if (contents.holder.empty()) {
    out << "nobody; last: " << (super.writer.empty() ? "unknown" : printable(super.writer)) << ", closed "
        << (super.clean ? "cleanly" : "not: the next start recovers what was written");
  } else {
    out << printable(contents.holder);
  }
  out << "\n  superblocks  ";
  const auto& faults = image.superblock_faults;
  if (faults[0].empty() && faults[1].empty()) out << "good";
  for (const std::size_t slot : {0U, 1U}) {
    if (!faults[slot].empty()) {
      out << "number " << slot << " of two is damaged: " << faults[slot] << "; the other one counts. ";
    }
  }
  out << "\n  journal      " << count(image.records) << " records in " << count(image.batches)
      << " batches since its checkpoint, number " << super.journal_generation % 1'000'000;
  if (image.lost_records > 0) out << "; " << count(image.lost_records) << " damaged or behind damage";
  if (image.meta_cut) out << "; the file 'meta' was cut short";
  out << '\n';
}

void print_contents(std::ostream& out, const StoreImage& image, const Contents& contents) {
  const FileLayout& layout = image.superblock.layout;
  out << "  blocks       " << count(contents.all.blocks) << ", " << format(contents.all.live) << " of "
      << format(layout.capacity()) << " that it may hold\n  disk         " << format(image.survey.allocated())
      << " taken of " << format(layout.total()) << "; " << format(contents.all.dead) << " dead, "
      << format(contents.all.free) << " free in segments\n";
  const WriteHistory& history = image.state.history;
  out << "  written      " << format(history.ever) << " ever, " << format(history.today) << " on "
      << date_of(history.day) << "\n\n";
  Table table({"segments of " + format(layout.segment_bytes), "number", "blocks", "live", "dead", "free"});
  for (const SegmentState state :
       {SegmentState::open, SegmentState::sealed, SegmentState::free, SegmentState::ungrown}) {
    SegmentFill sum;
    std::uint64_t number = 0;
    for (const SegmentFill& fill : contents.segments) {
      if (fill.state != state) continue;
      ++number;
      sum.blocks += fill.blocks;
      sum.live += fill.live;
      sum.dead += fill.dead;
      sum.free += fill.free;
    }
    table.add({std::string(name_of(state)), count(number), count(sum.blocks), format(sum.live),
               format(sum.dead), format(sum.free)});
  }
  table.print(out);
  if (contents.ages.empty()) return;
  out << '\n';
  Table spread({"of blocks", "least", "10 %", "median", "90 %", "most"});
  std::vector<std::string> ages = {"age, while the store was open"};
  std::vector<std::string> worth = {"worth, log2"};
  for (const double q : kQuantiles) {
    ages.push_back(text(calibrate::quantile(contents.ages, q)));
    worth.push_back(number(calibrate::quantile(contents.worth, q)));
  }
  spread.add(ages);
  spread.add(worth);
  spread.print(out);
}

json quantiles_json(const std::vector<double>& values) {
  json out = json::object();
  if (values.empty()) return out;
  for (const double q : kQuantiles)
    out["p" + std::to_string(static_cast<int>(q * 100))] = calibrate::quantile(values, q);
  return out;
}

std::string json_of(const StoreImage& image, const Contents& contents) {
  const Superblock& super = image.superblock;
  json out;
  out["directory"] = image.directory;
  out["format"] = {{"major", kFormatMajor}, {"minor", super.minor}};
  out["namespace"] = {{"model", super.model},
                      {"layout", super.layout_name},
                      {"dtype", super.dtype},
                      {"ranks", super.ranks},
                      {"fingerprint", std::to_string(super.fingerprint)}};
  out["row_B"] = super.layout.row_bytes.value();
  out["held"] = !contents.holder.empty();
  out["holder"] = contents.holder;
  out["writer"] = super.writer;
  out["clean"] = super.clean;
  out["superblock_faults"] = image.superblock_faults;
  out["journal"] = {{"batches", image.batches},
                    {"records", image.records},
                    {"lost_records", image.lost_records},
                    {"meta_cut", image.meta_cut},
                    {"checkpoint", super.journal_generation},
                    {"half", super.active_half}};
  out["blocks"] = contents.all.blocks;
  out["live_B"] = contents.all.live.value();
  out["dead_B"] = contents.all.dead.value();
  out["free_B"] = contents.all.free.value();
  out["allocated_B"] = image.survey.allocated().value();
  out["capacity_B"] = super.layout.capacity().value();
  out["written"] = {{"ever_B", image.state.history.ever.value()},
                    {"day_B", image.state.history.today.value()},
                    {"day", date_of(image.state.history.day)}};
  out["age_s"] = quantiles_json(contents.ages);
  out["worth_log2"] = quantiles_json(contents.worth);
  out["segments"] = json::array();
  for (const SegmentFill& fill : contents.segments) {
    out["segments"].push_back({{"number", fill.number},
                               {"state", name_of(fill.state)},
                               {"generation", fill.generation},
                               {"blocks", fill.blocks},
                               {"live_B", fill.live.value()},
                               {"dead_B", fill.dead.value()},
                               {"free_B", fill.free.value()}});
  }
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

struct InspectOptions {
  std::string directory;
  std::string json;
};

int run(const InspectOptions& options) {
  if (auto writable = check_outputs({options.json}); !writable) return cannot_look(writable.error());
  SteadyClock clock;
  const auto image = StoreImage::open(options.directory, StoreAccess::look, clock);
  if (!image) return cannot_look(image.error());
  const Contents contents = contents_of(**image);
  std::ostream& out = table_stream(options.json);
  print_head(out, **image, contents);
  print_contents(out, **image, contents);
  if (options.json.empty()) return kOk;
  const auto written = write_text(options.json, json_of(**image, contents));
  return written ? kOk : cannot_look(written.error());
}

}  // namespace

void add_inspect(CLI::App& program, Action& action) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = program.add_subcommand("inspect", "Show what the directory of a file tier holds");
  command->add_option("directory", options->directory, "Directory of a file tier")->required();
  command->add_option("--json", options->json, "Also write it as JSON to this file; - for standard output");
  command->footer(
      "Exit codes of inspect: 0 shown, 2 it could not look. It writes nothing, and disturbs no engine that\n"
      "holds the store.");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fulcrum::cli
