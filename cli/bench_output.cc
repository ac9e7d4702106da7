#include "cli/bench_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/document.h"
#include "cli/output.h"
#include "tiers/machine_facts.h"

namespace fulcrum::cli {
namespace {

using nlohmann::json;

// Bytes that pass through memory for each one delivered in place: the device writes it, the checksum reads
// it. A copy into rows of the host reads and writes it once more.
constexpr int kTouchedInPlace = 2;
constexpr int kTouchedCopied = 4;

std::string gigabytes(double rate) {
  return number(rate * 1e-9);
}
std::string ratio(double value) {
  return number(value, 3);
}

std::string device_text(const DeviceIdentity& device) {
  std::string text = device.filesystem;
  if (!device.device.empty()) text += " on " + device.device;
  if (!device.model.empty()) text += ", " + device.model;
  return text;
}

json row_json(const BenchIoRow& row) {
  json out;
  out["block_B"] = row.block.value();
  out["blocks"] = row.blocks;
  out["rounds"] = row.rounds;
  out["io"] = {{"size_B", row.setting.io_size.value()},
               {"depth", row.setting.depth},
               {"engine", row.engine_io},
               {"bare", row.bare_io},
               {"patterns", row.pattern_direct ? "O_DIRECT" : "through the page cache"}};
  out["read"]["bare"] = {{"Bps", row.bare}};
  out["read"]["single"] = {{"ratio", row.single_ratio}, {"ratios", row.single_ratios}, {"Bps", row.single}};
  out["read"]["concurrent32"] = {{"ratio", row.concurrent_ratio},
                                 {"ratios", row.concurrent_ratios},
                                 {"Bps", row.concurrent},
                                 {"first_block_s_mean", row.first_block_s}};
  out["write"] = {{"ratio", row.write_ratio},
                  {"ratios", row.write_ratios},
                  {"Bps", row.write},
                  {"bare_Bps", row.bare_write}};
  out["patterns"]["file_per_chunk_4"] = {{"ratio", row.four_readers_ratio},
                                         {"Bps", row.four_readers},
                                         {"request_s_mean", row.four_readers_request_s}};
  out["patterns"]["file_per_chunk_per_request"] = {{"ratio", row.thread_per_request_ratio},
                                                   {"Bps", row.thread_per_request},
                                                   {"request_s_mean", row.thread_per_request_request_s}};
  out["cpu"] = {{"cores_per_GBps_read", row.engine_cpu_s_per_GB},
                {"bare_cores_per_GBps_read", row.bare_cpu_s_per_GB}};
  return out;
}

}  // namespace

void print_bench(std::ostream& out, const BenchReport& report) {
  out << "engine against a bare loop in " << report.directory << " ("
      << device_text(report.rows.front().device) << "), " << format(report.bytes) << ", medians of "
      << report.rows.front().rounds << " rounds; ratios are of pairs\n";
  for (const BenchIoRow& row : report.rows) {
    const auto cores = [](double value) { return number(value, 2); };
    out << "\nblocks of " << format(row.block) << ", I/O of " << format(row.setting.io_size) << " at depth "
        << row.setting.depth << "\n  engine: " << row.engine_io << "\n  bare loop: " << row.bare_io << "\n";
    Table table({"", "GB/s", "engine / it", "cores per GB/s"});
    table.add({"engine, one long load", gigabytes(row.single), "", cores(row.engine_cpu_s_per_GB)});
    table.add({"engine, 32 loads", gigabytes(row.concurrent), "", ""});
    table.add({"bare loop, to one load", gigabytes(row.bare), ratio(row.single_ratio),
               cores(row.bare_cpu_s_per_GB)});
    table.add({"bare loop, to 32 loads", gigabytes(row.bare), ratio(row.concurrent_ratio), ""});
    table.add({"reference pattern: file a block, 4 readers", gigabytes(row.four_readers),
               ratio(row.four_readers_ratio), ""});
    table.add({"reference pattern: file a block, thread a request", gigabytes(row.thread_per_request),
               ratio(row.thread_per_request_ratio), ""});
    table.add({"engine, stores until on the tier", gigabytes(row.write), "", ""});
    table.add({"bare loop, writes", gigabytes(row.bare_write), ratio(row.write_ratio), ""});
    table.print(out);
    out << "  of 32 requests at once, the mean one can begin after " << format(Seconds(row.first_block_s))
        << " with the engine, " << format(Seconds(row.four_readers_request_s)) << " and "
        << format(Seconds(row.thread_per_request_request_s)) << " with the patterns\n";
  }
  const BenchStall& stall = report.stall;
  out << "\nstore() while the device does not answer: p50 " << number(stall.p50_us) << " us, p99.9 "
      << number(stall.p999_us) << " us, most " << number(stall.most_us) << " us over " << stall.calls
      << " calls, " << stall.refused << " refused at once\n";
}

std::string bench_json(const BenchReport& report) {
  json out = row_json(report.rows[report.headline]);
  out["store_p999_us_stalled"] = report.stall.p999_us;
  out["store_stalled"] = {{"calls", report.stall.calls},
                          {"refused", report.stall.refused},
                          {"p50_us", report.stall.p50_us},
                          {"most_us", report.stall.most_us}};
  out["memory"] = {{"bytes_touched_per_byte_in_place", kTouchedInPlace},
                   {"bytes_touched_per_byte_copied", kTouchedCopied},
                   {"Bps_at_single", report.rows[report.headline].single * kTouchedInPlace}};
  out["directory"] = report.directory;
  out["device"] = device_text(report.rows.front().device);
  out["bytes"] = report.bytes.value();
  const MachineFacts facts = machine_facts();
  out["machine"] = {{"kernel", facts.kernel},
                    {"cpu", facts.cpu},
                    {"cores", facts.cores},
                    {"memory_B", facts.memory.value()}};
  out["rows"] = json::array();
  for (const BenchIoRow& row : report.rows) out["rows"].push_back(row_json(row));
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace fulcrum::cli
