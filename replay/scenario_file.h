// ScenarioFile: a scenario as read from its YAML file. The formats are described in docs/replay.md.
#pragma once

#include <string>
#include <vector>

#include "fulcrum/policy.h"
#include "fulcrum/profile.h"
#include "replay/scenario.h"
#include "replay/trace.h"

namespace fulcrum::replay {

enum class ScenarioKind { shared_pool, break_even };

/// Documents that were prefilled on one replica and are asked about on another.
struct SharedPoolSetup {
  int replicas = 1;
  int documents = 1;
  Tokens document{};
  Tokens gpu_cache{};
  int in_flight = 1;        ///< in the phase whose wall-clock time was published
  std::vector<int> bursts;  ///< follow-ups that arrive at once
};

/// Prefixes of growing length, read back or computed, on an idle machine.
struct BreakEvenSetup {
  Tokens longest{};         ///< search up to here
  Seconds what_if_setup{};  ///< set-up latency that a better reader would need
  int burst = 1;            ///< requests at once, to show the gate
  Tokens burst_prefix{};
};

struct ScenarioFile {
  ScenarioKind kind = ScenarioKind::shared_pool;
  std::string name;
  std::string source;
  Tokens block{};
  MachineProfile machine;
  std::vector<Bytes> capacities;  ///< by tier of the machine
  SharedPoolSetup pool;
  BreakEvenSetup break_even;
  std::vector<ScenarioFigure> published;
  std::vector<std::string> remarks;

  /// A policy over one of the machine's tiers.
  [[nodiscard]] PolicyConfig policy(Strategy strategy, std::size_t tier) const;
};

/// Kinds: not_found, permission, bad_input (all problems at once, with file:line:column).
Result<ScenarioFile> read_scenario(const std::string& path);

/// What the runners of the kinds return: every figure that they can simulate, and the changes.
Result<ScenarioReport> run_shared_pool(const ScenarioFile& file);
Result<ScenarioReport> run_break_even(const ScenarioFile& file);

/// Requests for documents, as a trace.
struct DocumentRequest {
  int document = 0;
  int replica = 0;  ///< for Router::session
  Seconds arrival{};
};
/// Each prompt is its document of `length` tokens and `fresh` new tokens behind it.
[[nodiscard]] Trace document_trace(const std::vector<DocumentRequest>& asked, Tokens length, Tokens fresh,
                                   Tokens block);

}  // namespace fulcrum::replay
