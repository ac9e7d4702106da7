// MapReader: every kind of mistake, reported at its place, all at once.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/document.h"

namespace fulcrum {
namespace {

/// One document with everything a reader can be asked for; returns what was reported.
class Reading {
 public:
  explicit Reading(const std::string& text)
      : document_(Document::parse_yaml(text, "f").value()), problems_("f") {}
  MapReader root() { return {document_.root(), problems_}; }
  Problems& problems() { return problems_; }
  [[nodiscard]] std::string said() const { return problems_.empty() ? "" : problems_.error("read").detail; }

 private:
  Document document_;
  Problems problems_;
};

constexpr auto kColours = std::to_array<std::string_view>({"red", "green"});

TEST(MapReading, ReturnsWhatWasWritten) {
  Reading reading(
      "n: 1.5\ni: -3\nb: true\nt: word\nc: green\ns: 4 KiB\nd: 20 ms\nr: 1 GB/s\nl: [1, 2.5]\n"
      "w: [a, \"1\"]\nm: {x: 1}\nms: [{x: 1}, {x: 2}]\nrows: [[1, 2], []]\n");
  MapReader root = reading.root();
  EXPECT_EQ(root.number("n"), 1.5);
  EXPECT_EQ(root.integer("i"), -3);
  EXPECT_TRUE(root.boolean("b"));
  EXPECT_EQ(root.text("t"), "word");
  EXPECT_EQ(root.choice("c", kColours), 1U);
  EXPECT_EQ(root.bytes("s"), 4_KiB);
  EXPECT_EQ(root.seconds("d"), 20_ms);
  EXPECT_EQ(root.rate("r"), 1_GBps);
  EXPECT_EQ(root.numbers("l"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(root.texts("w"), (std::vector<std::string>{"a", "1"}));
  MapReader map = root.map("m");
  EXPECT_EQ(map.integer("x"), 1);
  map.finish();
  auto maps = root.maps("ms");
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps[1].integer("x"), 2);
  EXPECT_EQ(root.number_rows("rows"), (std::vector<std::vector<double>>{{1, 2}, {}}));
  root.finish();
  EXPECT_EQ(reading.said(), "");
}

TEST(MapReading, FallsBackOnlyWhereAKeyIsMissing) {
  Reading reading("n: 2\nbad: x\n");
  MapReader root = reading.root();
  EXPECT_EQ(root.number_or("n", 1), 2);
  EXPECT_EQ(root.number_or("absent", 1), 1);
  EXPECT_EQ(root.integer_or("absent", 7), 7);
  EXPECT_TRUE(root.boolean_or("absent", true));
  EXPECT_EQ(root.text_or("absent", "t"), "t");
  EXPECT_EQ(root.choice_or("absent", 1, kColours), 1U);
  EXPECT_EQ(root.bytes_or("absent", 1_KiB), 1_KiB);
  EXPECT_EQ(root.seconds_or("absent", 1_s), 1_s);
  EXPECT_EQ(root.rate_or("absent", 1_GBps), 1_GBps);
  EXPECT_EQ(reading.said(), "");
  EXPECT_EQ(root.number_or("bad", 5), 5);
  EXPECT_EQ(reading.said(), "f:2:6: 'bad' wants a number, got 'x'");
}

struct Mistake {
  const char* text;
  const char* said;
};

TEST(MapProblems, NamePlaceKeyWantedAndFound) {
  const Mistake mistakes[] = {
      {"k: [1]", "f:1:4: 'k' wants bytes such as '64 GiB', got a list"},
      {"k: 64 ms", "f:1:4: 'k' wants bytes such as '64 GiB', got '64 ms'"},
      {"k: 64", "f:1:4: 'k' wants bytes such as '64 GiB', got '64': add its unit"},
      {"\n  k:", "f:2:3: 'k' wants bytes such as '64 GiB', got nothing"},
      {"k: 1 KiB", "f:1:4: 'k' must be at least 2 KiB, got 1 KiB"},
      {"k: -1 KiB", "f:1:4: 'k' must be at least 2 KiB, got -1 KiB"},
  };
  for (const Mistake& mistake : mistakes) {
    Reading reading(mistake.text);
    MapReader root = reading.root();
    EXPECT_EQ(root.bytes("k", {2048}), Bytes(0));
    root.finish();
    EXPECT_EQ(reading.said(), mistake.said) << mistake.text;
  }
}

TEST(MapProblems, NumbersTextsAndChoicesAreStrictAboutType) {
  Reading reading(
      "a: \"1\"\nb: 1.5\nc: yes\nd: 12\ne: gren\nf: 2\ng: 99\nh: [1, x]\ni: nan\nj: {}\nk: 0x10\nl: [[1], "
      "2]\n");
  MapReader root = reading.root();
  (void)root.number("a");
  (void)root.integer("b");
  (void)root.boolean("c");
  (void)root.text("d");
  (void)root.choice("e", kColours);
  (void)root.map("f");
  (void)root.number("g", {0, 10});
  (void)root.numbers("h");
  (void)root.number("i");
  (void)root.maps("j");
  (void)root.integer("k");
  (void)root.texts("l");
  EXPECT_EQ(reading.said(),
            "f:1:4: 'a' wants a number, got the text '1'; remove the quotes\n"
            "f:2:4: 'b' wants a whole number, got '1.5'\n"
            "f:3:4: 'c' wants true or false, got 'yes'\n"
            "f:4:4: 'd' wants text, got '12'; write \"12\" if that is the text\n"
            "f:5:4: 'e' wants one of red, green, got 'gren'; did you mean 'green'?\n"
            "f:6:4: 'f' wants a map of keys, got '2'\n"
            "f:7:4: 'g' must be between 0 and 10, got 99\n"
            "f:8:8: 'h' wants numbers only, got 'x'\n"
            "f:9:4: 'i' wants a number, got 'nan'\n"
            "f:10:4: 'j' wants a list, got a map\n"
            "f:11:4: 'k' wants a whole number, got '0x10'\n"
            "f:12:5: 'l' wants texts only, got a list");
}

TEST(MapProblems, UnknownKeysComeWithTheNearestValidOne) {
  Reading reading("capasity: 1\nname: x\nwholly_other: 2\nname: y\n");
  MapReader root = reading.root();
  (void)root.text("name");
  (void)root.has("capacity");
  (void)root.integer_or("capacity", 1);
  root.finish();
  EXPECT_EQ(reading.said(),
            "f:1:1: unknown key 'capasity'; did you mean 'capacity'?\n"
            "f:3:1: unknown key 'wholly_other'; valid here: name, capacity\n"
            "f:4:1: duplicate key 'name', first given on line 2");
}

TEST(MapProblems, MissingKeysAreNamedWithTheirPath) {
  Reading reading("tiers:\n  - {name: a}\n  - name: b\n    size: 1 B\n");
  MapReader root = reading.root();
  for (MapReader& tier : root.maps("tiers")) {
    (void)tier.text("name");
    (void)tier.bytes("size");
    tier.finish();
  }
  (void)root.text("title");
  (void)root.map("section").text("inner");
  root.finish();
  EXPECT_EQ(reading.said(),
            "f:1:1: missing key 'title'\n"
            "f:1:1: missing key 'section'\n"
            "f:2:5: missing key 'tiers[0].size'");
}

TEST(MapProblems, AWrongKindIsSaidOnceAndNotForEveryKeyWithin) {
  Reading reading("m: 3\nl: [4]\n");
  MapReader root = reading.root();
  MapReader map = root.map("m");
  (void)map.text("x");
  (void)map.number("y");
  map.finish();
  for (MapReader& item : root.maps("l")) {
    (void)item.text("x");
    item.finish();
  }
  EXPECT_EQ(reading.problems().size(), 2U);
  Reading list("- 1\n");
  MapReader broken = list.root();
  (void)broken.text("x");
  EXPECT_EQ(list.said(), "f:1:1: the document wants a map of keys, got a list");
  Reading empty("");
  MapReader nothing = empty.root();
  (void)nothing.text("x");
  EXPECT_EQ(empty.said(), "f:1:1: the document wants a map of keys, got nothing");
}

TEST(MapProblems, AreSortedByPlaceWhateverTheOrderOfReading) {
  Reading reading("a: x\nb: x\nc: x\n");
  MapReader root = reading.root();
  for (const char* key : {"c", "a", "b"}) (void)root.number(key);
  const std::string said = reading.said();
  EXPECT_LT(said.find("'a'"), said.find("'b'"));
  EXPECT_LT(said.find("'b'"), said.find("'c'"));
}

TEST(MapProblems, CallersAddContradictionsAtTheKeysPlace) {
  Reading reading("low: 5\nhigh: 3\n");
  MapReader root = reading.root();
  if (root.number("low") > root.number("high")) root.problem("high", "is below 'low'");
  root.problem("absent", "should be there");
  EXPECT_EQ(reading.said(), "f:1:1: 'absent' should be there\nf:2:7: 'high' is below 'low'");
}

TEST(MapProblems, ThousandsAreCountedAndNotPrinted) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  Reading reading(text);
  MapReader root = reading.root();
  root.finish();
  EXPECT_EQ(reading.problems().size(), 1000U);
  EXPECT_NE(reading.said().find("and 950 more problems"), std::string::npos);
  EXPECT_LT(reading.said().size(), 5000U);
}

}  // namespace
}  // namespace fulcrum
