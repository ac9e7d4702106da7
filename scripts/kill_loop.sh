#!/bin/sh
# Kills an engine at random moments, again and again, and looks at every byte that it serves afterwards.
#   scripts/kill_loop.sh [CYCLES [BUILD_DIR [SEED]]]     default: 1000 build/dev 1
# Ends with 0 where no life saw a wrong byte. A failure prints the seed of its round.
set -eu
cycles=${1:-1000}
build=${2:-build/dev}
seed=${3:-1}
test_program=$build/tests/engine/engine_test
[ -x "$test_program" ] || { echo "no $test_program: build it first, or name the build directory" >&2; exit 2; }
rounds=$(( (cycles + 19) / 20 ))
# A round is 20 cycles on one directory; shuffling makes every round take the next seed.
exec "$test_program" --gtest_filter='KillLoop.NoLife*' --gtest_shuffle --gtest_random_seed="$seed" \
  --gtest_repeat="$rounds" --gtest_fail_fast --gtest_brief=1
