// The machine behind configs/profiles/example.yaml, as code.
#pragma once

#include <string>

#include "fulcrum/profile.h"

namespace fulcrum::test {

/// One H200 host: Llama-3.1-8B prefill and transfer rates as published in docs/break_even.md, the rest from
/// what such parts usually do. Every verdict is `estimated`.
MachineProfile example_profile();

/// The whole text of configs/profiles/example.yaml.
std::string example_profile_text();

}  // namespace fulcrum::test
