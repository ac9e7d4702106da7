// LineChart: curves over two axes as SVG text, for documents and reports.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fulcrum {

/// One axis. A logarithmic axis shows positive values only and is marked at whole decades.
struct ChartAxis {
  std::string title;
  double low = 0;  ///< ends of the axis, in the data's unit; low < high
  double high = 1;
  bool logarithmic = false;
  std::vector<double> marks;                 ///< where grid lines stand
  std::function<std::string(double)> label;  ///< text at a mark
};

struct ChartCurve {
  std::string name;
  std::string colour;                             ///< SVG colour
  std::vector<std::pair<double, double>> points;  ///< (x, y), by x; clipped to the axes
  std::vector<std::pair<double, double>> band;    ///< (low, high) at each point's x; empty: none
};

/// A point that the chart names, e.g. where two curves cross.
struct ChartNote {
  double x = 0;
  double y = 0;
  std::string text;
};

struct LineChart {
  std::string title;
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartCurve> curves;
  std::vector<ChartNote> notes;

  [[nodiscard]] std::string svg() const;
};

}  // namespace fulcrum
