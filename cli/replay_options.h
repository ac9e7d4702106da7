// The options of `fulcrum replay`, as given on the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fulcrum::cli {

struct ReplayOptions {
  std::string trace;
  std::string scenario;
  std::string profile;
  std::string policy;
  std::vector<std::string> compare = {"none", "load_always", "threshold", "break_even"};
  int replicas = 4;
  std::string router = "round_robin";
  bool private_caches = false;
  std::int64_t gpu_cache = std::int64_t{1} << 19;
  std::size_t requests = 0;
  double speed = 1;
  double decode_share = 0;
  std::vector<std::string> slow;
  bool exact = false;
  bool skip_bad = false;
  std::uint64_t seed = 1;
  std::string json;
  std::string decisions;
  std::string svg;
  std::string real;
  int workers = 4;
  std::int64_t kv_share = 0;
  bool keep = false;
};

/// Adds them to the command; `options` outlives it.
void add_replay_options(CLI::App& command, ReplayOptions& options);

}  // namespace fulcrum::cli
