// Quantities as text, both ways.
#include "base/quantity_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/document.h"
#include "base/random.h"

namespace fulcrum {
namespace {

TEST(ParseBytes, KnowsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("64 GiB"), 64_GiB);
  EXPECT_EQ(parse_bytes("64GiB"), 64_GiB);
  EXPECT_EQ(parse_bytes("1.5 TB"), Bytes(1'500'000'000'000));
  EXPECT_EQ(parse_bytes("4096 B"), 4096_B);
  EXPECT_EQ(parse_bytes("1 kB"), 1000_B);
  EXPECT_EQ(parse_bytes("1 KB"), 1000_B);
  EXPECT_EQ(parse_bytes("1 KiB"), 1024_B);
  EXPECT_EQ(parse_bytes("0.5 MiB"), 512_KiB);
  EXPECT_EQ(parse_bytes("2 TiB"), Bytes(std::int64_t{2} << 40));
  EXPECT_EQ(parse_bytes("1 PiB"), Bytes(std::int64_t{1} << 50));
  EXPECT_EQ(parse_bytes("9007199254740993 B"), Bytes(9007199254740993)) << "beyond what a double holds";
  EXPECT_EQ(parse_bytes("-1 KiB"), Bytes(-1024)) << "left to the range check";
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const char* text : {"64",       "",        " ",        "GiB",     "64 gib",  "64 GIB",  "64 ms",
                           "64 GB/s",  "64 Gb",   "0x40 GiB", "1e400 B", "nan B",   "inf GiB", "64 GiB ",
                           " 64 GiB",  "6 4 GiB", "64,5 GiB", "1_000 B", "010 GiB", "+5 B",    "9000000 PiB",
                           "1..5 GiB", "1e5",     "--1 B",    "64\tGiB"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(ParseSeconds, KnowsItsUnits) {
  EXPECT_EQ(parse_seconds("20 ms"), Seconds(0.02));
  EXPECT_EQ(parse_seconds("3 ms"), Seconds(0.003)) << "not 3 * 0.001, which is another double";
  EXPECT_EQ(parse_seconds("90 us"), Seconds(90e-6));
  EXPECT_EQ(parse_seconds("5 ns"), Seconds(5e-9));
  EXPECT_EQ(parse_seconds("2s"), 2_s);
  EXPECT_EQ(parse_seconds("5 min"), 300_s);
  EXPECT_EQ(parse_seconds("1 h"), 3600_s);
  EXPECT_EQ(parse_seconds("1.5 d"), Seconds(1.5 * 86400));
  for (const char* text : {"20", "20 MB", "20 m", "20 sec", "20 S", "1e999 s", "0x1 s"}) {
    EXPECT_FALSE(parse_seconds(text)) << text;
  }
}

TEST(ParseRate, IsASizeASecond) {
  EXPECT_EQ(parse_rate("2.5 GB/s"), 2.5_GBps);
  EXPECT_EQ(parse_rate("800MB/s"), 800_MBps);
  EXPECT_EQ(parse_rate("1 GiB/s"), BytesPerSecond(1073741824.0));
  for (const char* text : {"2.5 GB", "2.5 Gb/s", "2.5 GB/h", "2.5", "GB/s", "/s"})
    EXPECT_FALSE(parse_rate(text)) << text;
}

TEST(ParseNumber, TakesPlainDecimalOnly) {
  EXPECT_EQ(scalar_number("1e-05"), 1e-5);
  EXPECT_EQ(scalar_number("-0.5"), -0.5);
  EXPECT_EQ(scalar_number("0"), 0.0);
  EXPECT_EQ(scalar_number("0.25"), 0.25);
  for (const char* text :
       {"", "nan", "inf", "-inf", ".nan", ".inf", "0x10", "010", "-07", "1e999", "1,5", "1 ", "one"}) {
    EXPECT_FALSE(scalar_number(text)) << text;
  }
  EXPECT_EQ(scalar_integer("-12"), -12);
  for (const char* text : {"1.0", "1e3", "9223372036854775808", "0o7", "0b1", "012"})
    EXPECT_FALSE(scalar_integer(text)) << text;
}

TEST(Format, IsShortAndReadable) {
  EXPECT_EQ(format(4_GiB), "4 GiB");
  EXPECT_EQ(format(1536_MiB), "1.5 GiB");
  EXPECT_EQ(format(1000_B), "1000 B");
  EXPECT_EQ(format(0_B), "0 B");
  EXPECT_EQ(format(Bytes(-2048)), "-2 KiB");
  EXPECT_EQ(format(BytesPerSecond(1.234e9)), "1.23 GB/s");
  EXPECT_EQ(format(800_MBps), "800 MB/s");
  EXPECT_EQ(format(BytesPerSecond(0)), "0 B/s");
  EXPECT_EQ(format(45_ms), "45 ms");
  EXPECT_EQ(format(Seconds(90e-6)), "90 us");
  EXPECT_EQ(format(Seconds(1.36)), "1.36 s");
  EXPECT_EQ(format(100_s), "100 s");
  EXPECT_EQ(format(600_s), "10 min");
  EXPECT_EQ(format(0_s), "0 s");
  EXPECT_EQ(format(6203_tok), "6,203");
  EXPECT_EQ(format(-1234567_tok), "-1,234,567");
  EXPECT_EQ(format(999_tok), "999");
}

TEST(Format, IsReadBackWithinItsThreeDigits) {
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    const double size = std::exp(random.uniform() * 34);
    const auto bytes = parse_bytes(format(Bytes(std::llround(size))));
    const auto rate = parse_rate(format(BytesPerSecond(size)));
    const auto time = parse_seconds(format(Seconds(size * 1e-9)));
    ASSERT_TRUE(bytes && rate && time) << size;
    EXPECT_NEAR(static_cast<double>(bytes->value()), size, 0.006 * size + 1);
    EXPECT_NEAR(rate->value(), size, 0.006 * size);
    EXPECT_NEAR(time->value(), size * 1e-9, 0.006 * size * 1e-9);
  }
}

TEST(FormatExact, IsReadBackToTheLastBit) {
  EXPECT_EQ(format_exact(64_GiB), "64 GiB");
  EXPECT_EQ(format_exact(Bytes(1'000'000'000)), "1 GB");
  EXPECT_EQ(format_exact(Bytes(1'000'000'001)), "1000000001 B");
  EXPECT_EQ(format_exact(0_B), "0 B");
  EXPECT_EQ(format_exact(Seconds(0.02)), "20 ms");
  EXPECT_EQ(format_exact(120_s), "120 s");
  EXPECT_EQ(format_exact(Seconds(0)), "0 s");
  EXPECT_EQ(format_exact(2.5_GBps), "2.5 GB/s");
  Random random(12);
  for (int i = 0; i < 5000; ++i) {
    const Bytes bytes(static_cast<std::int64_t>(random.next() >> (1 + random.below(62))));
    const Seconds time(std::exp(60 * random.uniform() - 30));
    const BytesPerSecond rate(std::exp(40 * random.uniform()));
    EXPECT_EQ(parse_bytes(format_exact(bytes)), bytes);
    EXPECT_EQ(parse_seconds(format_exact(time)), time) << format_exact(time);
    EXPECT_EQ(parse_rate(format_exact(rate)), rate) << format_exact(rate);
    EXPECT_EQ(scalar_number(format_exact(time.value())), time.value());
  }
}

}  // namespace
}  // namespace fulcrum
