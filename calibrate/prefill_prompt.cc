#include "calibrate/prefill_prompt.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace fulcrum::calibrate {

namespace {

constexpr std::string_view kConsonants = "bdfghklmnprstvz";
constexpr std::string_view kVowels = "aeiou";

void add_syllables(Random& random, int count, std::string& out) {
  for (int i = 0; i < count; ++i) {
    out += kConsonants[random.below(kConsonants.size())];
    out += kVowels[random.below(kVowels.size())];
  }
}

}  // namespace

std::string random_prompt(Random& random, std::size_t words) {
  std::string prompt;
  prompt.reserve(words * 5 + 16);
  for (std::size_t i = 0; i < words; ++i) {
    if (i > 0) prompt += ' ';
    add_syllables(random, i == 0 ? 8 : 2, prompt);
  }
  return prompt;
}

TokensPerWord TokensPerWord::from(std::size_t words_a, Tokens a, std::size_t words_b, Tokens b) {
  TokensPerWord law;
  law.per_word =
      static_cast<double>((b - a).value()) / (static_cast<double>(words_b) - static_cast<double>(words_a));
  law.fixed = static_cast<double>(a.value()) - law.per_word * static_cast<double>(words_a);
  return law;
}

std::size_t TokensPerWord::words_for(Tokens tokens) const {
  const double words = (static_cast<double>(tokens.value()) - fixed) / per_word;
  return static_cast<std::size_t>(std::max(1.0, std::round(words)));
}

Tokens TokensPerWord::tokens_for(std::size_t words) const {
  return Tokens(std::llround(fixed + per_word * static_cast<double>(words)));
}

}  // namespace fulcrum::calibrate
