// Seeds of the binary targets, made with the encoders of this version. Those of texts are written by hand in
// tests/fuzz/corpus. A name that begins with "good" is taken by the reader, one that begins with "bad" is
// not.
#pragma once

#include <map>
#include <string>

#include "tests/fuzz/input.h"

namespace fulcrum::fuzz {

/// Path below the corpus -> bytes.
[[nodiscard]] std::map<std::string, Bits> binary_seeds();

/// An input of `store` whose forger also signs the row that he passes off as another block's. No reader can
/// tell, so that the laws of the target must.
[[nodiscard]] Bits signed_forgery();

}  // namespace fulcrum::fuzz
