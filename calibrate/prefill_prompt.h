// Prompts that no server has seen: seeded random words, and how many words make how many tokens.
#pragma once

#include <cstddef>
#include <string>

#include "base/random.h"
#include "fulcrum/units.h"

namespace fulcrum::calibrate {

/// `words` random words of two syllables, separated by spaces. The first word already differs between any
/// two calls for all practical purposes, so no two prompts share a prefix.
[[nodiscard]] std::string random_prompt(Random& random, std::size_t words);

/// tokens = fixed + per_word * words, as one server's tokeniser makes them of random words.
struct TokensPerWord {
  double fixed = 0;
  double per_word = 0;

  /// From two counted prompts of different length. per_word <= 0 where the counts make no sense.
  static TokensPerWord from(std::size_t words_a, Tokens a, std::size_t words_b, Tokens b);
  [[nodiscard]] std::size_t words_for(Tokens tokens) const;
  [[nodiscard]] Tokens tokens_for(std::size_t words) const;
};

}  // namespace fulcrum::calibrate
