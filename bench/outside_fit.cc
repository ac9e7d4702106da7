// Prints how well the prefill law explains and foretells timings that others published: the table of
// docs/break_even.md. Run: outside_fit [tests/data]
#include <cstdio>
#include <string>

#include "fulcrum/cost.h"
#include "tests/model/outside_data.h"

namespace {

using fulcrum::test::OutsideSeries;
using fulcrum::test::RelativeErrors;

std::string percent(const RelativeErrors& errors) {
  if (errors.points == 0) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.1f / %.1f (%d)", 100 * errors.median, 100 * errors.p95, errors.points);
  return text;
}

void print(const OutsideSeries& series, const std::string& data) {
  const auto inside = fulcrum::test::summary(fulcrum::test::held_out_errors(series, true));
  const auto all = fulcrum::test::summary(fulcrum::test::held_out_errors(series, false));
  const auto [held, asked] = fulcrum::test::held_out_coverage(series);
  const auto fit = fulcrum::test::summary(fulcrum::test::fit_errors(series));
  const std::string coverage = asked == 0 ? "-" : std::to_string(held) + "/" + std::to_string(asked);
  std::printf("| %s | %s | %s | %s | %s | %s |", series.data_set.c_str(), series.name.c_str(),
              percent(fit).c_str(), percent(inside).c_str(), percent(all).c_str(), coverage.c_str());
  std::vector<double> errors;
  int in_interval = 0;
  for (const auto& one : fulcrum::test::datasheet_errors(series, data)) {
    errors.push_back(one.error);
    in_interval += one.held ? 1 : 0;
  }
  const auto sheet = fulcrum::test::summary(errors);
  std::printf(" %s |\n", sheet.points == 0
                             ? "-"
                             : (percent(sheet) + ", " + std::to_string(in_interval) + " held").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string data = argc > 1 ? argv[1] : FULCRUM_TEST_DATA;
  std::printf("Relative errors in %%: median / p95 (points)\n\n");
  std::printf(
      "| data set | model, machine | fit | held out, inside | held out, all | in 95 %% interval | data sheet "
      "|\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  for (const OutsideSeries& series : fulcrum::test::ucm_series(data)) print(series, data);
  print(fulcrum::test::kernel_series(data), data);
  for (const OutsideSeries& series : fulcrum::test::h200_series()) print(series, data);
  return 0;
}
