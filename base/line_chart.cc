#include "base/line_chart.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace fulcrum {
namespace {

constexpr double kLeft = 72;
constexpr double kTop = 44;
constexpr double kWidth = 560;
constexpr double kHeight = 300;
constexpr double kLegend = 170;

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

/// Where a value stands on its axis, 0..1, clipped.
double share(const ChartAxis& axis, double value) {
  const auto scale = [&](double v) { return axis.logarithmic ? std::log10(std::max(v, axis.low)) : v; };
  return std::clamp((scale(value) - scale(axis.low)) / (scale(axis.high) - scale(axis.low)), 0.0, 1.0);
}

class Painter {
 public:
  Painter(const LineChart& chart, std::ostream& out) : chart_(chart), out_(out) {}

  void grid() {
    out_ << "<g stroke='#d8dde3' fill='none'>\n";
    for (const double mark : chart_.x.marks)
      out_ << "<path d='M" << x(mark) << ' ' << kTop << 'V' << kTop + kHeight << "'/>\n";
    for (const double mark : chart_.y.marks)
      out_ << "<path d='M" << kLeft << ' ' << y(mark) << 'H' << kLeft + kWidth << "'/>\n";
    out_ << "</g>\n<g fill='#44505c'>\n";
    for (const double mark : chart_.x.marks)
      text("middle", x(mark), kTop + kHeight + 18, chart_.x.label(mark));
    for (const double mark : chart_.y.marks) text("end", kLeft - 8, y(mark) + 4, chart_.y.label(mark));
    text("middle", kLeft + kWidth / 2, kTop + kHeight + 38, chart_.x.title);
    out_ << "<text text-anchor='middle' transform='translate(14 " << kTop + kHeight / 2 << ") rotate(-90)'>"
         << escape(chart_.y.title) << "</text>\n</g>\n";
  }

  void curve(const ChartCurve& curve, std::size_t row) {
    if (!curve.band.empty()) {
      out_ << "<path stroke='none' fill='" << curve.colour << "' fill-opacity='0.15' d='";
      for (std::size_t i = 0; i < curve.points.size(); ++i)
        point(i == 0 ? 'M' : 'L', curve.points[i].first, curve.band[i].first);
      for (std::size_t i = curve.points.size(); i-- > 0;)
        point('L', curve.points[i].first, curve.band[i].second);
      out_ << "Z'/>\n";
    }
    out_ << "<path fill='none' stroke-width='2' stroke='" << curve.colour << "' d='";
    for (std::size_t i = 0; i < curve.points.size(); ++i)
      point(i == 0 ? 'M' : 'L', curve.points[i].first, curve.points[i].second);
    out_ << "'/>\n";
    const double line = kTop + 12 + 20 * static_cast<double>(row);
    out_ << "<path stroke-width='3' stroke='" << curve.colour << "' d='M" << kLeft + kWidth + 14 << ' '
         << line << "h18'/>\n";
    text("start", kLeft + kWidth + 38, line + 4, curve.name);
  }

  void note(const ChartNote& note) {
    const bool to_the_left = share(chart_.x, note.x) > 0.6;
    out_ << "<circle r='4' fill='#1d252c' cx='" << x(note.x) << "' cy='" << y(note.y) << "'/>\n"
         << "<g font-weight='bold' paint-order='stroke' stroke='#fff' stroke-width='4'>";  // readable across
                                                                                           // curves
    text(to_the_left ? "end" : "start", x(note.x) + (to_the_left ? -10 : 10), y(note.y) + 20, note.text);
    out_ << "</g>\n";
  }

 private:
  [[nodiscard]] double x(double value) const { return kLeft + kWidth * share(chart_.x, value); }
  [[nodiscard]] double y(double value) const { return kTop + kHeight * (1 - share(chart_.y, value)); }
  void point(char command, double px, double py) { out_ << command << x(px) << ' ' << y(py); }
  void text(const char* anchor, double px, double py, const std::string& words) {
    out_ << "<text text-anchor='" << anchor << "' x='" << px << "' y='" << py << "'>" << escape(words)
         << "</text>\n";
  }

  const LineChart& chart_;
  std::ostream& out_;
};

}  // namespace

std::string LineChart::svg() const {
  std::ostringstream out;
  out.precision(5);
  out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << kLeft + kWidth + kLegend << ' '
      << kTop + kHeight + 52
      << "' font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' fill='#fff'/>\n"
      << "<text x='" << kLeft << "' y='24' font-size='15' fill='#1d252c'>" << escape(title) << "</text>\n";
  Painter painter(*this, out);
  painter.grid();
  for (std::size_t i = 0; i < curves.size(); ++i) painter.curve(curves[i], i);
  for (const ChartNote& each : notes) painter.note(each);
  out << "</svg>\n";
  return out.str();
}

}  // namespace fulcrum
