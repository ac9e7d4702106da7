#include "tests/tiers/tier_contract.h"

#include "tests/tiers/tier_contract_laws.h"

namespace fulcrum::test {

const std::vector<TierLaw>& tier_laws() {
  static const std::vector<TierLaw> laws{
      {"ReadsBackWhatWasWritten", reads_back_what_was_written},
      {"WhatIsNotHeldIsNotFound", what_is_not_held_is_not_found},
      {"ErasedIsForgotten", erased_is_forgotten},
      {"WritingAgainIsHarmless", writing_again_is_harmless},
      {"CapacityIsNeverExceeded", capacity_is_never_exceeded},
      {"RunsListWhatCanBeRead", runs_list_what_can_be_read},
      {"ErasingWhatIsReadSpoilsNothing", erasing_what_is_read_spoils_nothing},
      {"AnyHistoryGivesTheRightBytes", any_history_gives_the_right_bytes},
      {"EveryJobEndsOnce", every_job_ends_once},
      {"CountedRowsAreTheCallersAgain", counted_rows_are_the_callers_again},
      {"CancelledJobsEnd", cancelled_jobs_end},
      {"MoreThanTheMostJobsIsBusy", more_than_the_most_jobs_is_busy},
      {"BadJobsAreRefused", bad_jobs_are_refused},
      {"AClosedTierTakesNoJobs", a_closed_tier_takes_no_jobs},
      {"WakeEndsAPoll", wake_ends_a_poll},
  };
  return laws;
}

Violations violations(const TierFactory& factory, const TierLaw& law) {
  auto made = factory.make();
  return made.has_error() ? Violations{made.error().message()} : law.check(*made->tier);
}

TEST_P(TierContract, Holds) {
  const auto& [factory, law] = GetParam();
  auto made = factory.make();
  if (made.has_error()) {
    const ErrorKind kind = made.error().kind;
    if (kind == ErrorKind::unsupported || kind == ErrorKind::permission)
      GTEST_SKIP() << made.error().message();
    FAIL() << made.error().message();
  }
  for (const std::string& what : law.check(*made->tier)) ADD_FAILURE() << what;
}

}  // namespace fulcrum::test
