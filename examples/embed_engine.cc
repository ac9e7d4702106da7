// A cache backend in one file: opens an engine on a directory, stores the KV of a prompt, asks for it back.
//   embed_engine DIR
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <future>
#include <numeric>
#include <vector>

#include "fulcrum/engine.h"

using namespace fulcrum;

namespace {

constexpr char kPolicy[] = R"(
version: 1
block_tokens: 64
tiers:
  - {name: dram, capacity: 256 MiB}
  - {name: nvme, capacity: 2 GiB, path: DIR}
engine: {staging: 64 MiB}
)";

}  // namespace

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "scratch/engine";
  std::filesystem::create_directories(directory);
  // 1. What the operator wants, and what the machine can do (fulcrum calibrate writes such a profile).
  std::string text = kPolicy;
  text.replace(text.find("DIR"), 3, directory);
  auto policy = PolicyConfig::parse(text, "embed_engine");
  auto profile = MachineProfile::load("configs/profiles/example.yaml");
  if (!policy || !profile) return std::puts((policy ? profile.error() : policy.error()).message().c_str()), 1;

  // 2. Whose bytes these are. Another value anywhere means other bytes, which are never mixed up.
  EngineOptions options{.name = {.model = "qwen3-8b@main", .layout = "paged16/nhd", .dtype = "bf16"},
                        .policy = *policy,
                        .profile = *profile,
                        .other_machine = true};
  auto engine = Engine::open(std::move(options));
  if (!engine) return std::puts(engine.error().message().c_str()), 1;

  // 3. The prompt's blocks, by its tokens.
  std::vector<std::int32_t> tokens(std::size_t{16} * 64);
  std::iota(tokens.begin(), tokens.end(), 0);
  std::vector<BlockKey> chain;
  BlockKey parent = BlockKey::root({.model = "qwen3-8b@main", .layout = "paged16/nhd", .dtype = "bf16"});
  for (std::size_t at = 0; at < tokens.size(); at += 64) {
    chain.push_back(parent = BlockKey::next(parent, std::span(tokens).subspan(at, 64)));
  }

  // 4. After the prefill: offer its rows. They stay ours again once on_done has come.
  const auto row = static_cast<std::size_t>((*engine)->row_bytes().value());
  std::vector<std::vector<std::byte>> rows(chain.size(), std::vector<std::byte>(row, std::byte{7}));
  std::promise<StoreOutcome> stored;
  StoreRequest offer{.chain = chain};
  for (const auto& bytes : rows) offer.rows.push_back(bytes.data());
  offer.on_done = [&](const StoreOutcome& outcome) { stored.set_value(outcome); };
  if (auto taken = (*engine)->store(std::move(offer)); !taken)
    return std::puts(taken.error().message().c_str()), 1;
  std::printf("kept %u of %zu blocks\n", stored.get_future().get().kept, chain.size());

  // 5. A later request with the same prefix: load what is worth loading, compute the rest.
  const Request request{.id = 1, .prompt = Tokens(16 * 64 + 10), .blocks = chain};
  const auto load = (*engine)->load(request);
  const LoadProgress end = load->wait();
  std::printf(
      "load %u blocks, compute %lld tokens; the bytes are %s\n", end.ready,
      static_cast<long long>((load->plan().prompt - Tokens(64) * end.ready).value()),
      end.ready > 0 && std::memcmp(load->row(0).data(), rows[0].data(), row) == 0 ? "ours" : "missing");
  return (*engine)->close(Seconds(5)) ? 0 : 1;
}
