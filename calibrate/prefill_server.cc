#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/document.h"
#include "base/errors.h"
#include "base/random.h"
#include "calibrate/prefill_judge.h"
#include "calibrate/prefill_openai.h"
#include "calibrate/prefill_prompt.h"
#include "calibrate/prefill_source.h"

namespace fulcrum::calibrate {

namespace {

constexpr std::size_t kCountWordsFew = 64;
constexpr std::size_t kCountWordsMany = 512;
/// Share of the server's context that a prompt may fill: its length is known only roughly beforehand.
constexpr double kContextShare = 0.95;

Tokens total(const PrefillShape& shape) {
  return shape.fresh + shape.cached;
}

/// The server may have met the prompts of an earlier run, so the moment takes part in their seed.
std::uint64_t prompt_seed(std::uint64_t seed, const Clock& clock) {
  return hash64(utc_stamp() + "/" + format_exact(clock.now().value()), seed);
}

struct Prefix {
  std::string text;
  Tokens tokens{};
};

class Probe {
 public:
  Probe(const ServerProbeOptions& options, Clock& clock, const ProbeProgress& progress, OpenAiClient client)
      : options_(options),
        progress_(progress),
        client_(std::move(client)),
        order_(Random(options.seed).split("order")),
        words_(prompt_seed(options.seed, clock)) {}

  Result<PrefillServerReport> run() {
    auto done = learn_server();
    if (done.has_error()) return done.error();
    plan();
    done = fill_prefixes();
    if (done.has_error()) return done.error();
    for (int round = 0; round <= options_.repeats; ++round) {
      done = measure(round);
      if (done.has_error()) return done.error();
    }
    if (progress_) progress_(steps_done_, steps_done_, "done");
    judge_timings(shapes_, report_);
    return std::move(report_);
  }

 private:
  /// Model, longest prompt, and how many tokens the server makes of a word.
  Result<void> learn_server() {
    report_.server = client_.server();
    auto model = client_.find_model(options_.model);
    if (model.has_error()) return model.error();
    report_.model = model->name;
    report_.context_max = model->context_max;
    const auto count = [&](std::size_t words) {
      step("counting tokens");
      return client_.count_tokens(report_.model, random_prompt(words_, words));
    };
    auto few = count(kCountWordsFew);
    if (few.has_error()) return few.error();
    auto many = count(kCountWordsMany);
    if (many.has_error()) return many.error();
    words_law_ = TokensPerWord::from(kCountWordsFew, *few, kCountWordsMany, *many);
    if (words_law_.per_word > 0.01) return {};
    return make_error(ErrorKind::unsupported, "count tokens", report_.server,
                      "its usage figures do not grow with the prompt",
                      "time the prefill by other means and give a CSV of samples");
  }

  /// Cold shapes beyond the context are shortened to it, warm ones are left out.
  void plan() {
    const auto limit =
        Tokens(static_cast<std::int64_t>(kContextShare * static_cast<double>(report_.context_max.value())));
    for (PrefillShape shape : options_.shapes) {
      const bool too_long = limit > Tokens(0) && total(shape) > limit;
      if (too_long) {
        say(format(total(shape)) + " tokens are beyond the server's " + format(report_.context_max));
        if (shape.cached > Tokens(0)) continue;
        shape.fresh = limit;
      }
      const bool known =
          std::ranges::any_of(shapes_, [&](const ShapeTimings& s) { return s.wanted == shape; });
      if (!known) shapes_.push_back({shape, {}, false});
    }
    steps_all_ = 2 + static_cast<int>(shapes_.size()) * (options_.repeats + 1);
  }

  Result<void> fill_prefixes() {
    std::vector<Tokens> lengths;
    for (const ShapeTimings& shape : shapes_) lengths.push_back(shape.wanted.cached);
    std::ranges::sort(lengths);
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    std::erase(lengths, Tokens(0));
    steps_all_ += static_cast<int>(lengths.size());
    for (const Tokens length : lengths) {
      step("sending a prefix of " + format(length) + " tokens");
      const std::size_t words = words_law_.words_for(length);
      Prefix prefix{random_prompt(words_, words), words_law_.tokens_for(words)};
      auto answer = ask(prefix.text);
      if (answer.has_error()) {
        if (!refused({Tokens(0), length}, answer.error())) return answer.error();
        return {};
      }
      prefix.tokens = answer->prompt.value_or(prefix.tokens);
      prefixes_.emplace(length, std::move(prefix));
    }
    return {};
  }

  /// One timing of every shape, in random order. Round 0 warms the server up and is not counted.
  Result<void> measure(int round) {
    std::vector<PrefillShape> turn;
    for (const ShapeTimings& shape : shapes_) turn.push_back(shape.wanted);
    for (std::size_t i = turn.size(); i > 1; --i) std::swap(turn[i - 1], turn[order_.below(i)]);
    for (const PrefillShape& wanted : turn) {
      const auto shape = std::ranges::find(shapes_, wanted, &ShapeTimings::wanted);
      if (shape == shapes_.end()) continue;
      step(format(wanted.fresh) + " new behind " + format(wanted.cached) + " cached tokens, " +
           (round == 0 ? "warm-up" : "round " + std::to_string(round)));
      auto timed = time_one(*shape, round > 0);
      if (timed.has_error() && !refused(wanted, timed.error())) return timed.error();
    }
    return {};
  }

  Result<void> time_one(ShapeTimings& shape, bool counts) {
    std::size_t words = words_law_.words_for(shape.wanted.fresh);
    std::string prompt = random_prompt(words_, words);
    Tokens known{};
    if (shape.wanted.cached > Tokens(0)) {
      const Prefix& prefix = prefixes_.at(shape.wanted.cached);
      prompt = prefix.text + " " + prompt;
      known = prefix.tokens;
    }
    auto answer = ask(prompt);
    if (answer.has_error()) return answer.error();
    const Tokens all = answer->prompt.value_or(known + words_law_.tokens_for(words));
    const Tokens cached = std::min(answer->cached.value_or(known), all - Tokens(1));
    shape.cache_reported = answer->cached.has_value();
    if (counts) shape.timings.push_back({all - cached, cached, answer->time});
    return {};
  }

  /// Asks once more after a failure that may pass.
  Result<FirstToken> ask(const std::string& prompt) {
    auto answer = client_.time_first_token(report_.model, prompt);
    ++report_.requests;
    if (answer.has_error() && may_pass(answer.error().kind)) {
      answer = client_.time_first_token(report_.model, prompt);
      ++report_.requests;
    }
    if (answer.has_error()) return answer;
    report_.tokens_sent += answer->prompt.value_or(Tokens(0));
    if (!answer->prompt && !std::exchange(said_no_usage_, true)) {
      say("the server's streams carry no usage: token counts come from its tokens per word");
    }
    return answer;
  }

  static bool may_pass(ErrorKind kind) {
    return kind == ErrorKind::unreachable || kind == ErrorKind::device || kind == ErrorKind::busy ||
           kind == ErrorKind::corrupt;
  }

  /// Takes a refused length, and all that are as long, out of the plan. False where it was no refusal, or
  /// where nothing shorter is left.
  bool refused(const PrefillShape& shape, const Error& error) {
    if (error.kind != ErrorKind::bad_input) return false;
    std::erase_if(shapes_, [&](const ShapeTimings& s) { return total(s.wanted) >= total(shape); });
    if (shapes_.empty()) return false;
    say("the server refused a prompt of about " + format(total(shape)) + " tokens: " + error.detail);
    return true;
  }

  void say(std::string finding) { report_.findings.push_back(std::move(finding)); }

  void step(const std::string& what) {
    if (progress_) progress_(steps_done_, std::max(steps_all_, steps_done_ + 1), what);
    ++steps_done_;
  }

  const ServerProbeOptions& options_;
  const ProbeProgress& progress_;
  OpenAiClient client_;
  Random order_;
  Random words_;
  TokensPerWord words_law_;
  std::map<Tokens, Prefix> prefixes_;
  std::vector<ShapeTimings> shapes_;
  PrefillServerReport report_;
  int steps_done_ = 0;
  int steps_all_ = 0;
  bool said_no_usage_ = false;
};

}  // namespace

Result<PrefillServerReport> probe_prefill_server(const ServerProbeOptions& options, Clock& clock,
                                                 const ProbeProgress& progress,
                                                 const std::atomic<bool>& stop) {
  if (options.repeats < 1 || options.shapes.empty() || !(options.timeout > Seconds(0))) {
    return bad_input("prefill server", "shapes, repeats and a timeout above zero are needed");
  }
  for (const PrefillShape& shape : options.shapes) {
    if (shape.fresh < Tokens(1) || shape.cached < Tokens(0)) {
      return bad_input("prefill server", "a shape needs 1 new token or more and no negative cached ones");
    }
  }
  auto client = OpenAiClient::create(options.url, options.api_key, clock, options.timeout, stop);
  if (client.has_error()) return client.error();
  return Probe(options, clock, progress, std::move(*client)).run();
}

}  // namespace fulcrum::calibrate
