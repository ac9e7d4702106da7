#include "base/text.h"

#include <gtest/gtest.h>

namespace fulcrum {
namespace {

TEST(Text, TrimTakesBlanksFromTheEndsOnly) {
  EXPECT_EQ(trim(" \t a b\r"), "a b");
  EXPECT_EQ(trim(" \t"), "");
}

TEST(Text, SplitGivesEveryPartEvenEmptyOnes) {
  std::vector<std::string_view> parts;
  split("a, ,b,", ',', parts);
  EXPECT_EQ(parts, (std::vector<std::string_view>{"a", "", "b", ""}));
  split("", ',', parts);
  EXPECT_EQ(parts.size(), 1U);
}

TEST(Text, ANumberIsTheWholeTextOrNothing) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_number("2.5e-3"), 2.5e-3);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "99999999999999999999"}) {
    EXPECT_FALSE(parse_integer(text)) << text;
  }
  for (const char* text : {"", "1,5", "1.5s", "1e999"}) EXPECT_FALSE(parse_number(text)) << text;
}

}  // namespace
}  // namespace fulcrum
