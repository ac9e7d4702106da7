#include "replay/scenario.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/errors.h"
#include "replay/scenario_file.h"

namespace fulcrum::replay {
namespace {

using Json = nlohmann::ordered_json;

/// Puts the published figures beside the simulated ones, published first.
Result<void> join_published(const ScenarioFile& file, const std::string& path, ScenarioReport& report) {
  std::vector<ScenarioFigure> joined;
  std::vector<std::string_view> names;
  for (const ScenarioFigure& figure : report.figures) names.push_back(figure.quantity);
  for (const ScenarioFigure& published : file.published) {
    const auto simulated = std::find(names.begin(), names.end(), published.quantity);
    if (simulated == names.end()) {
      const std::string_view near = nearest(published.quantity, names);
      return bad_input(path, "'" + published.quantity + "' is not a quantity of this scenario",
                       near.empty() ? "remove it" : "did you mean '" + std::string(near) + "'?");
    }
    const auto at = static_cast<std::size_t>(simulated - names.begin());
    if (report.figures[at].unit != published.unit) {
      return bad_input(path, "'" + published.quantity + "' is simulated in " + report.figures[at].unit,
                       "convert the published value");
    }
    joined.push_back(published);
    joined.back().simulated = report.figures[at].simulated;
  }
  for (const ScenarioFigure& figure : report.figures) {
    const auto same = [&](const ScenarioFigure& other) { return other.quantity == figure.quantity; };
    if (std::none_of(joined.begin(), joined.end(), same)) joined.push_back(figure);
  }
  report.figures = std::move(joined);
  return {};
}

}  // namespace

std::string_view to_string(FigureRole role) {
  switch (role) {
    case FigureRole::input:
      return "input";
    case FigureRole::fitted:
      return "fitted";
    case FigureRole::predicted:
      return "predicted";
  }
  return "unknown";
}

Result<ScenarioReport> run_scenario(const std::string& path) {
  const auto file = read_scenario(path);
  if (!file) return file.error();
  auto report = file->kind == ScenarioKind::shared_pool ? run_shared_pool(*file) : run_break_even(*file);
  if (!report) return report.error();
  report->name = file->name;
  report->source = file->source;
  report->remarks.insert(report->remarks.begin(), file->remarks.begin(), file->remarks.end());
  if (auto joined = join_published(*file, path, *report); !joined) return joined.error();
  return report;
}

std::string scenario_json(const ScenarioReport& report) {
  Json json;
  json["schema"] = 1;
  json["scenario"] = report.name;
  json["source"] = report.source;
  json["figures"] = Json::array();
  for (const ScenarioFigure& figure : report.figures) {
    Json row = {{"quantity", figure.quantity}, {"unit", figure.unit}};
    if (figure.published) {
      row["role"] = to_string(figure.role);
      row["published"] = *figure.published;
      row["ratio"] = figure.simulated / *figure.published;
    }
    row["simulated"] = figure.simulated;
    if (!figure.note.empty()) row["note"] = figure.note;
    json["figures"].push_back(std::move(row));
  }
  json["gate"] = Json::array();
  for (const ScenarioChange& change : report.changes) {
    json["gate"].push_back({{"quantity", change.quantity},
                            {"unit", change.unit},
                            {"without_gate", change.without_gate},
                            {"with_gate", change.with_gate},
                            {"break_even", change.break_even}});
  }
  json["remarks"] = report.remarks;
  return json.dump(2);
}

}  // namespace fulcrum::replay
