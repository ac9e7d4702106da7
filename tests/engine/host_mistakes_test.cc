// What a host can get wrong in a call: it is told, it computes, and its process lives.
#include <cmath>
#include <limits>

#include "tests/engine/engine_fixture.h"

namespace fulcrum::test {
namespace {

struct Mistake {
  std::string name;
  std::function<void(Request&)> make;
  std::string told;  ///< part of what status() says
};

std::ostream& operator<<(std::ostream& out, const Mistake& mistake) {
  return out << mistake.name;
}

class HostMistake : public testing::TestWithParam<Mistake> {};

TEST_P(HostMistake, MeansThatAllIsComputed) {
  const auto engine = test_engine(test_options(100, ""));
  ASSERT_TRUE(engine);
  Chain keys = test_chain(1, 20);
  ASSERT_EQ(store_and_wait(*engine, keys).kept, 20U);
  Request request = test_request(1, keys);
  EXPECT_EQ(engine->plan(request).run_count, 1U) << "as it should be";
  GetParam().make(request);
  EXPECT_EQ(engine->plan(request).run_count, 0U);
  engine->hint(request);
  const auto load = engine->load(request);
  EXPECT_EQ(load->wait().end, LoadEnd::complete);
  EXPECT_EQ(load->count(), 0U);
  EXPECT_GE(load->plan().to_compute(), Tokens(0));
  EXPECT_EQ(load->plan().to_load(), Tokens(0));
  const std::vector<std::string> alarms = engine->status().alarms;
  ASSERT_EQ(alarms.size(), 1U);
  EXPECT_NE(alarms[0].find(GetParam().told), std::string::npos) << alarms[0];
  EXPECT_EQ(engine->load(test_request(2, keys))->wait().ready, 20U) << "the engine goes on";
}

const Chain& chain_with_a_repeated_key() {
  static const Chain chain = [] {
    Chain keys = test_chain(1, 20);
    keys.push_back(keys[3]);
    return keys;
  }();
  return chain;
}

const double kNotANumber = std::numeric_limits<double>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    All, HostMistake,
    testing::Values(
        Mistake{"NoPrompt", [](Request& r) { r.prompt = Tokens(0); }, "Request::prompt"},
        Mistake{"NegativePrompt", [](Request& r) { r.prompt = Tokens(-100); }, "Request::prompt"},
        Mistake{"EndlessPrompt",
                [](Request& r) { r.prompt = Tokens(std::numeric_limits<std::int64_t>::max()); },
                "Request::prompt"},
        Mistake{"NegativeResident", [](Request& r) { r.resident = Tokens(-5); }, "Request::resident"},
        Mistake{"LeadIsNoNumber", [](Request& r) { r.lead = Seconds(kNotANumber); }, "Request::lead"},
        Mistake{"GpuLoadIsNoNumber", [](Request& r) { r.gpu_load = kNotANumber; }, "Request::gpu_load"},
        Mistake{"RepeatedKey", [](Request& r) { r.blocks = chain_with_a_repeated_key(); },
                "Request::blocks"}),
    [](const testing::TestParamInfo<Mistake>& one) { return one.param.name; });

TEST(HostMistakes, OddNumbersThatMeanSomethingAreTaken) {
  const auto engine = test_engine(test_options(100, ""));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 20);
  store_and_wait(*engine, keys);
  const double endless = std::numeric_limits<double>::infinity();
  const std::vector<std::function<void(Request&)>> odd = {
      [](Request& r) { r.resident = Tokens(1 << 30); }, [](Request& r) { r.resident = Tokens(100); },
      [](Request& r) { r.prompt = Tokens(10); },        [&](Request& r) { r.lead = Seconds(endless); },
      [](Request& r) { r.lead = Seconds(-1e9); },       [](Request& r) { r.gpu_load = -1e9; },
      [&](Request& r) { r.gpu_load = endless; },        [](Request& r) { r.blocks = {}; },
  };
  RequestId id = 0;
  for (const auto& make : odd) {
    Request request = test_request(++id, keys);
    make(request);
    engine->hint(request);
    const auto load = engine->load(request, {.deadline = Seconds(kNotANumber)});
    EXPECT_EQ(load->wait().end, LoadEnd::complete) << id;
    EXPECT_GE(verified(*load, keys), 0) << id;
  }
  EXPECT_TRUE(engine->status().alarms.empty());
}

TEST(HostMistakes, RowsOfTheHostThatAreNullMeanThatAllIsComputed) {
  const auto engine = test_engine(test_options(100, ""));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 20);
  store_and_wait(*engine, keys);
  std::vector<std::byte> row(kRowBytes);
  LoadOptions options{.into = std::vector<std::byte*>(20, row.data())};
  options.into[7] = nullptr;
  const auto load = engine->load(test_request(1, keys), std::move(options));
  EXPECT_EQ(load->wait().end, LoadEnd::complete);
  EXPECT_EQ(load->count(), 0U);
  ASSERT_EQ(engine->status().alarms.size(), 1U);
  EXPECT_NE(engine->status().alarms[0].find("LoadOptions::into"), std::string::npos);
}

TEST(HostMistakes, AStoreSaysWhatIsWrongWithIt) {
  const auto engine = test_engine(test_options(100, ""));
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->store({.chain = test_chain(1, 3)}).error().kind, ErrorKind::bad_input);
  EXPECT_EQ(engine->store({}).error().kind, ErrorKind::bad_input);
  EXPECT_EQ(engine->store({.chain = test_chain(1, 1), .rows = {nullptr}}).error().kind, ErrorKind::bad_input);
  EXPECT_EQ(engine->store({.chain = test_chain(1, 3), .first = 4}).error().kind, ErrorKind::bad_input);
  const std::vector<std::byte> row(kRowBytes);
  const Chain& repeated = chain_with_a_repeated_key();
  const auto taken = engine->store({.chain = repeated, .rows = std::vector(repeated.size(), row.data())});
  ASSERT_TRUE(taken.has_error());
  EXPECT_EQ(taken.error().kind, ErrorKind::bad_input);
  EXPECT_NE(taken.error().message().find("blocks 3 and 20"), std::string::npos) << taken.error().message();
}

TEST(HostMistakes, AChainThatIsGivenFromItsMiddleOnIsUnknownAndIsNotKept) {
  const auto engine = test_engine(test_options(100, ""));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 10);
  store_and_wait(*engine, Chain(keys.begin(), keys.begin() + 5));
  EXPECT_EQ(store_and_wait(*engine, keys).kept, 5U);
  const Chain front(keys.begin(), keys.begin() + 5);
  engine->load(test_request(9, front))->wait();  // from now on the back is known on its own
  const Chain back(keys.begin() + 5, keys.end());
  engine->hint(test_request(1, back));
  EXPECT_EQ(engine->load(test_request(1, back))->wait().ready, 0U);
  EXPECT_EQ(store_and_wait(*engine, back).kept, 0U);
  EXPECT_EQ(engine->status().indexed_blocks, 10U) << "a key is known once";
  Chain other = test_chain(2, 5);  // as long as what comes before it, but something else
  other.insert(other.end(), back.begin(), back.end());
  EXPECT_EQ(engine->load(test_request(2, other))->wait().ready, 0U);
  const auto load = engine->load(test_request(3, keys));
  EXPECT_EQ(load->wait().ready, 10U);
  EXPECT_EQ(verified(*load, keys), 10);
}

TEST(HostMistakes, FewerRowsThanBlocksBringNoMoreThanThereAreRowsFor) {
  const ScratchDirectory scratch;
  EngineOptions options = test_options(0, scratch.path());
  options.policy.stop_loss = 1000;
  const auto engine = test_engine(std::move(options));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 40);
  store_and_wait(*engine, keys);
  ASSERT_TRUE(wait_for_blocks(*engine, 0, 40));
  std::vector<std::byte> host(kRowBytes * 10);
  LoadOptions load_options;
  for (std::size_t i = 0; i < 10; ++i) load_options.into.push_back(host.data() + i * kRowBytes);
  Request request = test_request(1, keys);
  request.resident = Tokens(kBlockTokens * 7);
  const auto load = engine->load(request, std::move(load_options));
  EXPECT_EQ(load->wait().ready, 10U);
  EXPECT_EQ(load->first(), 7U);
  EXPECT_EQ(load->plan().load_end, Tokens(kBlockTokens * 17)) << "what is behind it is the host's to compute";
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(same(std::span(host).subspan(i * kRowBytes, kRowBytes), keys[7 + i])) << i;
  }
  EXPECT_TRUE(engine->close(Seconds(10)));
  EXPECT_EQ(engine->status().tiers[0].blocks_read, 10U) << "the rest was not read for nothing";
}

}  // namespace
}  // namespace fulcrum::test
