#include "calibrate/prefill_judge.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/document.h"

namespace fulcrum::calibrate {

namespace {

template <class T, class Get>
T median_of(const std::vector<PrefillSample>& timings, Get get) {
  std::vector<T> values;
  values.reserve(timings.size());
  for (const PrefillSample& s : timings) values.push_back(get(s));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

PrefillPoint point_of(const std::vector<PrefillSample>& timings) {
  PrefillPoint point;
  point.fresh = median_of<Tokens>(timings, [](const PrefillSample& s) { return s.fresh; });
  point.cached = median_of<Tokens>(timings, [](const PrefillSample& s) { return s.cached; });
  point.median = median_of<Seconds>(timings, [](const PrefillSample& s) { return s.time; });
  point.minimum = std::ranges::min(timings, {}, &PrefillSample::time).time;
  point.samples = static_cast<int>(timings.size());
  return point;
}

std::string shape_text(const PrefillShape& shape) {
  return format(shape.fresh) + " new tokens behind " + format(shape.cached);
}

/// Cold prefill time of any length: straight lines through the cold minima, the last one carried on.
class ColdTimes {
 public:
  void add(Tokens tokens, Seconds time) { points_.push_back({tokens, time}); }
  void sort() { std::ranges::sort(points_, {}, &Point::tokens); }

  [[nodiscard]] std::optional<Seconds> at(Tokens tokens) const {
    if (points_.size() < 2) return std::nullopt;
    std::size_t upper = 1;
    while (upper + 1 < points_.size() && points_[upper].tokens < tokens) ++upper;
    const Point& a = points_[upper - 1];
    const Point& b = points_[upper];
    if (a.tokens == b.tokens) return a.time;
    return a.time + (b.time - a.time) * ((tokens - a.tokens) / (b.tokens - a.tokens));
  }

  [[nodiscard]] bool grows() const {
    if (points_.size() < 2 || points_.back().tokens < points_.front().tokens * 4) return true;
    return points_.back().time > points_.front().time * kGrowthLeast;
  }

 private:
  struct Point {
    Tokens tokens{};
    Seconds time{};
  };
  std::vector<Point> points_;
};

class Judge {
 public:
  Judge(std::span<const ShapeTimings> shapes, PrefillServerReport& report) : report_(report) {
    for (const ShapeTimings& shape : shapes) {
      if (!shape.timings.empty()) judged_.push_back({&shape, point_of(shape.timings)});
    }
    std::ranges::sort(judged_, [](const Judged& a, const Judged& b) {
      return std::pair(a.point.cached, a.point.fresh) < std::pair(b.point.cached, b.point.fresh);
    });
  }

  void run() {
    report_.verdict = Verdict::good;
    for (const Judged& j : judged_) {
      if (j.shape->wanted.cached == Tokens(0)) cold_.add(j.point.fresh + j.point.cached, j.point.minimum);
    }
    cold_.sort();
    for (const Judged& j : judged_) {
      report_.points.push_back(j.point);
      if (is_usable(j)) keep(j);
    }
    judge_load();
    judge_cold_prompts();
  }

 private:
  struct Judged {
    const ShapeTimings* shape;
    PrefillPoint point;
  };

  void say(std::string finding) { report_.findings.push_back(std::move(finding)); }

  /// False for a warm shape that, by its time, was no cache hit, where the server does not say.
  bool is_usable(const Judged& j) {
    if (j.shape->wanted.cached == Tokens(0)) return true;
    if (j.shape->cache_reported) {
      if (j.point.cached == Tokens(0)) {
        say(shape_text(j.shape->wanted) +
            ": the server found nothing in its prefix cache and computed the whole");
      }
      return true;
    }
    const auto whole = cold_.at(j.point.fresh + j.point.cached);
    if (!whole || j.point.minimum < *whole * kWarmShare) return true;
    say(shape_text(j.shape->wanted) + " took " + format(j.point.minimum) + ", about the " + format(*whole) +
        " of a whole prompt: no prefix cache, so these timings are left out");
    return false;
  }

  void keep(const Judged& j) {
    for (const PrefillSample& s : j.shape->timings) {
      if (s.time <= j.point.minimum * kNearMinimum) {
        report_.samples.push_back(s);
      } else {
        ++slow_;
      }
    }
  }

  void judge_load() {
    const auto busy = std::ranges::count_if(
        judged_, [](const Judged& j) { return j.point.median > j.point.minimum * kNearMinimum; });
    if (slow_ > 0) {
      say(std::to_string(slow_) +
          " timings were more than 25 % slower than the fastest of their shape and are " + "left out");
    }
    if (busy == 0) return;
    report_.verdict = Verdict::noisy;
    say("the server was busy: for " + std::to_string(busy) + " of " + std::to_string(judged_.size()) +
        " shapes even the median is more than 25 % above the minimum; probe it while it is idle");
  }

  void judge_cold_prompts() {
    for (const Judged& j : judged_) {
      if (j.shape->wanted.cached > Tokens(0) || j.point.cached <= j.point.fresh) continue;
      report_.verdict = Verdict::cached;
      say("a prompt that nobody had sent before was answered with " + format(j.point.cached) +
          " cached tokens: these times are not prefill times");
      return;
    }
    if (cold_.grows()) return;
    report_.verdict = Verdict::cached;
    say("the time does not grow with the prompt's length: something answers before the prefill is done, " +
        std::string("or from a cache; these times are not prefill times"));
  }

  PrefillServerReport& report_;
  std::vector<Judged> judged_;
  ColdTimes cold_;
  int slow_ = 0;
};

}  // namespace

void judge_timings(std::span<const ShapeTimings> shapes, PrefillServerReport& report) {
  Judge(shapes, report).run();
}

}  // namespace fulcrum::calibrate
