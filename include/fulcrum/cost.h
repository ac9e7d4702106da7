// What things cost: prefill time, transfer time, and the break-even between them.
//
// Pure functions on plain data; nothing here touches a clock, a thread or a device. Symbols are those of
// docs/break_even.md: P cached-prefix tokens, alpha s/token linear prefill cost, beta s/token^2 attention
// cost, kappa KV bytes per token, l load set-up latency, s = kappa/B seconds per loaded token.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fulcrum/measured.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

/// The marginal price of computing tokens behind a prefix: alpha + beta*x seconds for the token at x.
/// Two numbers, so a decider can price any run of blocks in a few instructions.
struct MarginalLaw {
  double alpha = 0;  ///< s/token; may be negative at a low quantile, where nothing is surely saved
  double beta = 0;   ///< s/token^2

  /// Cost of tokens [from, to) given all KV below: alpha*(to-from) + beta*(to^2-from^2)/2.
  /// Additive: between(a,c) = between(a,b) + between(b,c).
  [[nodiscard]] Seconds between(Tokens from, Tokens to) const {
    const auto a = static_cast<double>(from.value());
    const auto b = static_cast<double>(to.value());
    return Seconds((b - a) * (alpha + beta * (a + b) / 2));
  }
};

/// The prefill law: n new tokens behind p cached ones, run as m chunks of c_i tokens from p_i:
///   t = th0 + th1*m + th2*sum(c~_i) + th3*sum(c_i*(p_i + c_i/2)) + th4*sum(p_i) + th5*sum(max(0, n_h -
///   c~_i))
/// where c~ is c rounded up to a whole tile. All theta >= 0 and th5 <= th2, so that time never falls when
/// tokens are added. Closed form: no loop over chunks, no allocation.
struct PrefillLaw {
  static constexpr std::size_t kTerms = 6;
  std::array<double, kTerms> theta{};  ///< s, s/call, s/token, s/token^2, s/token, s/token
  std::int64_t chunk_tokens = 0;       ///< the server's prefill chunk; 0: the whole prompt in one call
  std::int64_t knee_tokens = 0;        ///< n_h: calls below it are bound by streaming the weights
  std::int64_t tile_tokens = 1;        ///< GEMM tile; 1: no quantisation

  /// The six regressors for (fresh, cached); their product with theta is the time.
  [[nodiscard]] std::array<double, kTerms> regressors(Tokens fresh, Tokens cached) const;
  /// Seconds to prefill `fresh` tokens behind `cached` ones. 0 for fresh = 0.
  [[nodiscard]] Seconds time(Tokens fresh, Tokens cached) const;
  /// Effective linear cost. In chunks of c tokens: (th1 + th2*c~ + th5*max(0, n_h - c~))/c - th4/2.
  /// In one call: th2 - th4, since a cached token spares its linear cost but is read by that call.
  [[nodiscard]] double alpha() const;
  /// Effective attention cost: th3 + th4/c (chunked) or th3.
  [[nodiscard]] double beta() const;
  [[nodiscard]] MarginalLaw marginal() const { return {alpha(), beta()}; }
  /// Marginal cost of computing tokens [from, to) given all KV below; additive.
  [[nodiscard]] Seconds between(Tokens from, Tokens to) const { return marginal().between(from, to); }
};

/// A fitted law with bootstrap draws, so that every prediction has an interval.
struct PrefillCost {
  PrefillLaw law;
  std::vector<std::array<double, PrefillLaw::kTerms>> draws;  ///< refits of resampled data
  double residual = 0;  ///< relative standard deviation of one observation around the law, widened
                        ///< for the few samples behind it (Student's t at 95 %)
  Tokens domain{};      ///< longest fresh + cached seen in the data; beyond is extrapolation
  Verdict verdict = Verdict::invalid;

  [[nodiscard]] Seconds time(Tokens fresh, Tokens cached) const { return law.time(fresh, cached); }
  /// Interval that holds a new observation with probability `coverage` (0 < coverage < 1): parameter
  /// draws and the noise of one observation together.
  [[nodiscard]] Interval<Seconds> predict(Tokens fresh, Tokens cached, double coverage = 0.95) const;
  /// Interval of the law itself at (fresh, cached): parameter draws only, as for the mean of many runs.
  [[nodiscard]] Interval<Seconds> expected(Tokens fresh, Tokens cached, double coverage = 0.95) const;
  /// `quantile` (0..1) of the marginal cost of [from, to): parameter draws and residual together, by
  /// their mean and variance. Never below 0. O(draws), no allocation.
  [[nodiscard]] Seconds between_quantile(Tokens from, Tokens to, double quantile) const;
  /// The same for a hot path, made once: a straight line that for every [from, to) within
  /// marginal_reach() is never above between_quantile where quantile < 1/2, and never below it where
  /// quantile > 1/2. It is the chord of a curve that is concave (convex) in the position.
  [[nodiscard]] MarginalLaw marginal(double quantile) const;
  /// Position up to which marginal() keeps its promise: 256 Ki tokens, or the domain if that is longer.
  [[nodiscard]] Tokens marginal_reach() const;
};

/// One timing of a prefill.
struct PrefillSample {
  Tokens fresh{};
  Tokens cached{};
  Seconds time{};
};

struct PrefillFitOptions {
  std::int64_t chunk_tokens = 0;
  std::int64_t knee_tokens = 256;
  std::int64_t tile_tokens = 128;
  int draws = 200;
  std::uint64_t seed = 1;
};

/// Fits the law by relative-error-weighted non-negative least squares with residual bootstrap. Columns
/// that the samples cannot tell apart (variance inflation above 30) are left out, and never more are
/// kept than distinct shapes less one; single outliers are pulled in (Huber). Needs at least 3 distinct
/// shapes. The verdict is `noisy` where the interval of the law is wider than 10 % at a sample.
/// Kinds: bad_input (too few; NaN, zero or negative samples: names the row, from 1).
Result<PrefillCost> fit_prefill(std::span<const PrefillSample> samples, const PrefillFitOptions& options);

/// Throughput of N loads at once: X(N) = X1*N / (1 + sigma*(N-1) + k*N*(N-1)).
struct ContentionLaw {
  BytesPerSecond single{};  ///< X1: one load alone
  double sigma = 0;         ///< serialisation, 0..1
  double k = 0;             ///< coherence or seek thrash, >= 0

  [[nodiscard]] BytesPerSecond throughput(int loads) const;
  /// N with the highest throughput (at most `limit`).
  [[nodiscard]] int peak(int limit = 1024) const;
  /// N*: the fewest loads whose throughput reaches `share` of the peak's.
  [[nodiscard]] int gate(double share = 0.95, int limit = 1024) const;
};

struct ThroughputSample {
  int loads = 1;
  BytesPerSecond rate{};
};
/// Fits the contention law: N/X(N) is linear in (N-1) and N(N-1); non-negative least squares.
/// Kinds: bad_input (fewer than 3 levels of N, non-positive rates).
Result<ContentionLaw> fit_contention(std::span<const ThroughputSample> samples);

/// Bandwidth of accesses of g bytes each: B(g) = sequential * g / (g + half).
struct CommitLaw {
  BytesPerSecond sequential{};
  Bytes half{};  ///< access size that reaches half of `sequential`

  [[nodiscard]] BytesPerSecond rate(Bytes size) const;
  /// Access size that reaches `share` (0..1) of `sequential`.
  [[nodiscard]] Bytes size_for(double share) const;
};
struct CommitSample {
  Bytes size{};
  BytesPerSecond rate{};
};
/// Fits 1/B against 1/g. Kinds: bad_input (fewer than 2 sizes, non-positive rates, rates that grow with
/// the size without any sign of levelling off).
Result<CommitLaw> fit_commit(std::span<const CommitSample> samples);

/// Time to move bytes from a tier: l + bytes * N / X(N).
struct TransferLaw {
  Seconds setup{};  ///< l
  ContentionLaw contention;

  /// Time for one load when `others` equal loads are in flight beside it all the while.
  [[nodiscard]] Seconds time(Bytes bytes, int others = 0) const;
  /// Finish time of a new load among known in-flight ones (`remaining` bytes each), by fluid processor
  /// sharing: every load in flight gets X(N)/N. The set-up is added in front. O(n log n); allocates
  /// scratch space for n loads.
  [[nodiscard]] Seconds finish(Bytes bytes, std::span<const Bytes> remaining) const;
};

/// Break-even prefix P*: the fewest tokens from which loading all beats computing all.
///   P* = [(s - alpha) + sqrt((s - alpha)^2 + 2*beta*max(0, l - L))] / beta
/// `lead` (L) is how long I/O may run before the GPU is ready. Tokens::max() where no length pays.
[[nodiscard]] Tokens break_even_prefix(double alpha, double beta, double seconds_per_token, Seconds setup,
                                       Seconds lead = Seconds(0));

/// Break-even bandwidth at position p: B*(p) = kappa / (alpha + beta*p). A block at p is worth loading
/// only from a tier that delivers more. 1e18, more than any tier has, where a token costs nothing.
[[nodiscard]] BytesPerSecond break_even_bandwidth(BytesPerToken kappa, double alpha, double beta,
                                                  Tokens position);

/// No length pays.
inline constexpr Tokens kNever{INT64_MAX};

/// What is loaded, and how fast one load gets it.
struct LoadTerms {
  BytesPerToken kappa{};
  Bytes fixed{};                    ///< KV that does not grow: loaded once, whatever the length
  Measured<Seconds> setup{};        ///< l
  Measured<BytesPerSecond> rate{};  ///< of one load, at the load on the device that is meant
  Seconds lead{};                   ///< L
};

/// P* with its 95 % interval: at the bootstrap draws of the prefill and at speeds sampled from the
/// intervals of the tier. kNever at an end of the interval means that no length may pay.
[[nodiscard]] Measured<Tokens> break_even(const PrefillCost& prefill, const LoadTerms& load,
                                          std::uint64_t seed = 1);
/// B*(p) with its 95 % interval: at the bootstrap draws of the prefill.
[[nodiscard]] Measured<BytesPerSecond> bandwidth_needed(const PrefillCost& prefill, BytesPerToken kappa,
                                                        Tokens position);

}  // namespace fulcrum
