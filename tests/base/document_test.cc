// Documents: the tree with its positions, what is refused, JSON, and text that nobody meant to write.
#include "base/document.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/atomic_file.h"
#include "base/errors.h"
#include "base/random.h"

namespace fulcrum {
namespace {

std::string refusal(const std::string& text) {
  const auto result = Document::parse_yaml(text, "f");
  if (result) return "accepted";
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  return result.error().detail;
}

TEST(DocumentTree, KeepsOrderPlacesAndQuotes) {
  const auto document = Document::parse_yaml("a: 1\nlist:\n  - x\n  - \"2\"\nmap: {k: v, n: }\n", "f.yaml");
  ASSERT_TRUE(document);
  const Node& root = document->root();
  ASSERT_EQ(root.kind, NodeKind::map);
  ASSERT_EQ(root.fields.size(), 3U);
  EXPECT_EQ(root.fields[0].key, "a");
  EXPECT_EQ(root.find("a")->scalar, "1");
  EXPECT_FALSE(root.find("a")->quoted);
  EXPECT_EQ(root.find("a")->mark.line, 1);
  EXPECT_EQ(root.find("a")->mark.column, 4);
  const Node& list = *root.find("list");
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_TRUE(list.items[1].quoted);
  EXPECT_EQ(list.items[1].mark.line, 4);
  EXPECT_EQ(list.items[1].mark.column, 5);
  EXPECT_EQ(root.fields[2].value.key_mark.line, 5);
  EXPECT_EQ(root.find("map")->find("n")->kind, NodeKind::null);
  EXPECT_EQ(root.find("none"), nullptr);
}

TEST(DocumentTree, KeepsDuplicatesForTheReaderToReport) {
  const auto document = Document::parse_yaml("a: 1\na: 2\n", "f");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().fields.size(), 2U);
  EXPECT_EQ(document->root().find("a")->scalar, "1");
}

TEST(DocumentTree, OfAnEmptyTextIsNull) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n"}) {
    const auto document = Document::parse_yaml(text, "f");
    ASSERT_TRUE(document) << text;
    EXPECT_EQ(document->root().kind, NodeKind::null) << text;
  }
}

TEST(DocumentTree, OfALargeMapIsCheckedInLinearTime) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const auto document = Document::parse_yaml(text, "f");
  ASSERT_TRUE(document);
  Problems problems("f");
  MapReader root(document->root(), problems);
  root.finish();
  EXPECT_EQ(problems.size(), 100000U);
}

TEST(DocumentTree, AProblemIsOneLineWhateverTheValueThatItQuotes) {
  Problems problems("f");
  problems.add({1, 2}, "wants a number, got 'a\nb\x1b[2J'");
  EXPECT_EQ(problems.error("read").detail, "f:1:2: wants a number, got 'a b [2J'");
}

TEST(DocumentRefusal, NamesTheConstructAndItsPlace) {
  EXPECT_NE(refusal("a: &x 1\nb: *x\n").find("f:1:"), std::string::npos) << refusal("a: &x 1\nb: *x\n");
  EXPECT_NE(refusal("a: &x 1\n").find("anchors"), std::string::npos);
  EXPECT_NE(refusal("a: 1\n<<: {b: 2}\n").find("f:2:1: merge keys"), std::string::npos)
      << refusal("a: 1\n<<: {b: 2}\n");
  EXPECT_NE(refusal("a: !!int 1\n").find("tags"), std::string::npos);
  EXPECT_NE(refusal("a: 1\n---\nb: 2\n").find("second document"), std::string::npos)
      << refusal("a: 1\n---\nb: 2\n");
  EXPECT_NE(refusal("{[1, 2]: 3}\n").find("key"), std::string::npos);
  EXPECT_NE(refusal("? {a: 1}\n: 2\n").find("key"), std::string::npos);
  EXPECT_NE(refusal("a: 1\nb: [1, 2\n").find("f:"), std::string::npos);
  EXPECT_NE(refusal("a: \"unfinished\n").find("quote is still open"), std::string::npos)
      << refusal("a: \"unfinished\n");
  EXPECT_NE(refusal("a: 'open\nb: 2\n").find("f:3:"), std::string::npos) << "would swallow every key below";
  EXPECT_NE(refusal("a:\n\t- 1\n").find("f:2:"), std::string::npos) << refusal("a:\n\t- 1\n");
}

TEST(DocumentRefusal, AControlCharacterDoesNotEndTheFileUnseen) {
  // The parser takes 0x04 for the end of the text: without the check, "b" would silently be missing.
  EXPECT_NE(refusal(std::string("a: 1\n\x04\nb: 2\n")).find("f:2:1: control character 4"), std::string::npos);
  EXPECT_NE(refusal(std::string("a: 1\0b: 2", 9)).find("control character 0"), std::string::npos);
}

TEST(DocumentRefusal, DepthAndSizeAreBounded) {
  std::string nested;
  for (int depth = 1; depth <= 64; ++depth) nested += "[";
  EXPECT_TRUE(Document::parse_yaml(nested + "1" + std::string(64, ']'), "f"));
  EXPECT_NE(refusal("[" + nested + "1" + std::string(65, ']')).find("deeper than 64"), std::string::npos);
  EXPECT_NE(refusal(std::string(100000, '[')).find("bracket"), std::string::npos);
  EXPECT_NE(refusal(std::string(100000, '{')).find("f:"), std::string::npos);
  std::string dashes;
  for (int i = 0; i < 100000; ++i) dashes += "- ";
  EXPECT_NE(refusal(dashes).find("f:"), std::string::npos);
  EXPECT_NE(refusal(std::string((16U << 20) + 1, ' ')).find("larger than 16 MiB"), std::string::npos);
}

TEST(Json, IsReadWithTabsEscapesAndNulls) {
  const auto document = Document::parse_json(
      "{\n\t\"a\":1,\n\t\"text\" : \"x\\u00e9\\/\\n\\\"\",\n\t\"n\": null, "
      "\"l\":[1.5e-05,true,null],\"e\":{},\"m\":[]\n}\n",
      "f");
  ASSERT_TRUE(document) << document.error().message();
  const Node& root = document->root();
  EXPECT_EQ(root.find("a")->scalar, "1");
  EXPECT_EQ(root.find("text")->scalar, "x\xc3\xa9/\n\"");
  EXPECT_TRUE(root.find("text")->quoted);
  EXPECT_EQ(root.find("n"), nullptr) << "null counts as missing";
  EXPECT_EQ(root.find("l")->items.size(), 3U);
  EXPECT_EQ(root.find("e")->kind, NodeKind::map);
}

TEST(Json, HoldsOneLineOfAnyLength) {
  std::string text = "{\"a\": [";
  for (int i = 0; i < 20000; ++i) text += (i == 0 ? "" : ", ") + std::to_string(i);
  text += "], \"b\": {\"c\": \"" + std::string(5000, 'x') + "\"}}";
  const auto document = Document::parse_json(text, "f");
  ASSERT_TRUE(document) << document.error().message().substr(0, 200);
  EXPECT_EQ(document->root().find("a")->items.size(), 20000U);
  EXPECT_EQ(document->root().find("b")->find("c")->scalar.size(), 5000U);
}

TEST(Json, EveryPublishedModelConfigurationIsRead) {
  int count = 0;
  for (const char* directory : {FULCRUM_SOURCE_DIR "/configs/models", FULCRUM_TEST_DATA "/model_configs"}) {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() != ".json") continue;
      const auto text = read_file(entry.path());
      ASSERT_TRUE(text) << text.error().message();
      const auto document = Document::parse_json(*text, entry.path());
      ASSERT_TRUE(document) << document.error().message();
      EXPECT_NE(document->root().find("architectures"), nullptr) << entry.path();
      ++count;
    }
  }
  EXPECT_GE(count, 10);
}

TEST(Json, SurrogatePairsAreOneCharacter) {
  const auto document = Document::parse_json("{\"a\": \"\\ud83d\\ude00 \\\\ud83d\"}", "f");
  ASSERT_TRUE(document) << document.error().message();
  EXPECT_EQ(document->root().find("a")->scalar, "\xf0\x9f\x98\x80 \\ud83d");
}

TEST(YamlQuote, ReadsBackAsTheSameText) {
  Random random(5);
  const std::string alphabet = "ab1.-_ :#'\"\\{}[],&*!|>%@`~\n\t\x01\x7f\r\xc3\xa9=?0";
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::uint64_t length = random.below(12); length > 0; --length)
      text += alphabet[random.below(alphabet.size())];
    std::string clean;  // the two bytes of the accent only ever stand together
    for (const char c : text) clean += c == '\xc3' || c == '\xa9' ? "\xc3\xa9" : std::string(1, c);
    const auto document = Document::parse_yaml("k: " + yaml_quote(clean) + "  # c\n", "f");
    ASSERT_TRUE(document) << yaml_quote(clean);
    EXPECT_EQ(document->root().find("k")->scalar, clean) << yaml_quote(clean);
  }
  for (const char* word : {"true", "NULL", "no", "~", "1.5", "0x1", "", "nan", "-", "a b", "y"}) {
    EXPECT_EQ(yaml_quote(word).front(), '"') << word;
  }
  EXPECT_EQ(yaml_quote("/mnt/nvme0-a.b"), "/mnt/nvme0-a.b");
}

TEST(Nearest, FindsTypingErrorsAndNothingElse) {
  constexpr std::string_view kNames[] = {"capacity", "write_limit", "gate", "name"};
  EXPECT_EQ(nearest("capasity", kNames), "capacity");
  EXPECT_EQ(nearest("capactiy", kNames), "capacity") << "two letters swapped";
  EXPECT_EQ(nearest("writelimit", kNames), "write_limit");
  EXPECT_EQ(nearest("gaet", kNames), "gate");
  EXPECT_EQ(nearest("nmae", kNames), "name");
  EXPECT_EQ(nearest("colour", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest(std::string(1 << 20, 'x'), kNames), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(DocumentFuzz, AnyBytesGiveATreeOrAPlace) {
  constexpr std::uint64_t kSeed = 99;
  Random random(kSeed);
  const std::string pieces[] = {
      "a", ": ",  "- ", "\n",   "  ",           "[",   "]", "{", "}",     ",",     "\"", "'",
      "#", "&a ", "*a", "!t ",  "|\n",          ">\n", "?", "%", "---\n", "...\n", "\t", "\\",
      "1", "~",   "<<", "\xc3", "\xef\xbb\xbf", "@"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::uint64_t count = random.below(40); count > 0; --count)
      text += pieces[random.below(std::size(pieces))];
    for (const bool json : {false, true}) {
      const auto result = json ? Document::parse_json(text, "f") : Document::parse_yaml(text, "f");
      if (result) continue;
      EXPECT_EQ(result.error().detail.find("f:"), 0U) << "seed " << kSeed << ": " << text;
    }
  }
}

}  // namespace
}  // namespace fulcrum
