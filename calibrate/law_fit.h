// The laws of fulcrum/cost.h, fitted to a probe's samples with bootstrap intervals. Pure and seeded.
//
// Every function fills the fields that it is named for and says in the judgement what is not good enough.
#pragma once

#include <cstdint>
#include <optional>

#include "calibrate/samples.h"
#include "calibrate/verdict.h"
#include "fulcrum/cost.h"
#include "fulcrum/profile.h"

namespace fulcrum::calibrate {

/// I/O size, depth, rate of one load and set-up latency. Either may be short of `target` or 10 %: `noisy`.
void fit_reads(const Samples& samples, const Cell& point, double target, TierProfile& tier,
               Judgement& judgement);

/// sigma and k from the medians of all `load` cells.
void fit_concurrency(const Samples& samples, std::uint64_t seed, TierProfile& tier, Judgement& judgement);

/// Write rate from the cell `best`, commit_half from the `commit` cells. Where durable writes level off
/// clearly lower, theirs is the write rate.
void fit_writes(const Samples& samples, const std::optional<Cell>& best, std::uint64_t seed,
                TierProfile& tier, Judgement& judgement);

/// read_during_writes from the pairs of `idle` and `beside`.
void fit_beside(const Samples& samples, std::uint64_t seed, TierProfile& tier);

/// B(g) through the medians of a kind's cells; empty where there are too few.
[[nodiscard]] std::optional<CommitLaw> fit_sizes(const Samples& samples, CellKind kind);

}  // namespace fulcrum::calibrate
