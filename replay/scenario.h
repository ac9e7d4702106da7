// Scenarios: experiments that others published, run again in the simulation, figure beside figure.
//
// A scenario file (configs/scenarios/*.yaml) names the set-up, the published figures with their source, and
// the role of each: an `input` set the model's numbers, a `fitted` one was used to choose a parameter, only a
// `predicted` one tests the simulation. Simulated figures are computed, never read from the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fulcrum/result.h"

namespace fulcrum::replay {

enum class FigureRole { input, fitted, predicted };
[[nodiscard]] std::string_view to_string(FigureRole role);

/// One line of the comparison.
struct ScenarioFigure {
  std::string quantity;
  std::string unit;
  FigureRole role = FigureRole::predicted;
  std::optional<double> published;
  double simulated = 0;
  std::string note;
};

/// One line of what another way of loading would have changed.
struct ScenarioChange {
  std::string quantity;
  std::string unit;
  double without_gate = 0;
  double with_gate = 0;
  double break_even = 0;  ///< the gate and the choice to recompute together
};

struct ScenarioReport {
  std::string name;
  std::string source;
  std::vector<ScenarioFigure> figures;
  std::vector<ScenarioChange> changes;
  std::vector<std::string> remarks;  ///< sentences about inputs and limits
};

/// Kinds: not_found, permission, bad_input (the file; or a published quantity that is not simulated).
Result<ScenarioReport> run_scenario(const std::string& path);
[[nodiscard]] std::string scenario_json(const ScenarioReport& report);

}  // namespace fulcrum::replay
