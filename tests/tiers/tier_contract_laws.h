// The laws of the tier contract, each a promise of tiers/tier.h.
#pragma once

#include "tests/tiers/tier_contract.h"

namespace fulcrum::test {

Violations reads_back_what_was_written(Tier& tier);
Violations what_is_not_held_is_not_found(Tier& tier);
Violations erased_is_forgotten(Tier& tier);
Violations writing_again_is_harmless(Tier& tier);
Violations capacity_is_never_exceeded(Tier& tier);
Violations runs_list_what_can_be_read(Tier& tier);
Violations erasing_what_is_read_spoils_nothing(Tier& tier);
Violations any_history_gives_the_right_bytes(Tier& tier);

Violations every_job_ends_once(Tier& tier);
Violations counted_rows_are_the_callers_again(Tier& tier);
Violations cancelled_jobs_end(Tier& tier);
Violations more_than_the_most_jobs_is_busy(Tier& tier);
Violations bad_jobs_are_refused(Tier& tier);
Violations a_closed_tier_takes_no_jobs(Tier& tier);
Violations wake_ends_a_poll(Tier& tier);

}  // namespace fulcrum::test
