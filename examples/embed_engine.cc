// A cache backend in one file: opens an engine on a directory, stores the KV of a prompt, asks for it back.
//   embed_engine DIR PROFILE      an installed copy has share/fulcrum/configs/profiles/example.yaml
#include <fulcrum/engine.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <future>
#include <vector>

using namespace fulcrum;

int main(int argc, char** argv) {
  if (argc != 3) return std::puts("usage: embed_engine DIR PROFILE"), 2;
  std::filesystem::create_directories(argv[1]);
  // 1. What the operator wants, and what the machine can do: 'fulcrum calibrate' writes such a profile.
  auto policy = PolicyConfig::parse(
      "version: 1\nblock_tokens: 64\nengine: {staging: 64 MiB}\ntiers:\n  - {name: dram, capacity: 256 MiB}\n"
      "  - {name: nvme, capacity: 2 GiB, path: " +
          std::string(argv[1]) + "}\n",
      "embed_engine");
  auto profile = MachineProfile::load(argv[2]);
  if (!policy || !profile) return std::puts((policy ? profile.error() : policy.error()).message().c_str()), 1;

  // 2. Whose bytes these are. Another value anywhere means other bytes, which are never mixed up.
  const Namespace name{.model = "qwen3-8b@main", .layout = "paged16/nhd", .dtype = "bf16"};
  auto engine = Engine::open({.name = name, .policy = *policy, .profile = *profile, .other_machine = true});
  if (!engine) return std::puts(engine.error().message().c_str()), 1;

  // 3. The prompt's blocks, by its tokens: each key names all that is in front of it.
  std::vector<BlockKey> chain;
  BlockKey parent = BlockKey::root(name);
  for (std::int32_t block = 0; block < 16; ++block) {
    const std::vector<std::int32_t> tokens(64, block);
    chain.push_back(parent = BlockKey::next(parent, tokens));
  }

  // 4. After the prefill: offer its rows. They stay ours again once on_done has come.
  const auto row = static_cast<std::size_t>((*engine)->row_bytes().value());
  const std::vector<std::vector<std::byte>> rows(chain.size(), std::vector<std::byte>(row, std::byte{7}));
  std::promise<StoreOutcome> stored;
  StoreRequest offer{.chain = chain};
  for (const auto& bytes : rows) offer.rows.push_back(bytes.data());
  offer.on_done = [&](const StoreOutcome& outcome) { stored.set_value(outcome); };
  if (auto taken = (*engine)->store(std::move(offer)); !taken)
    return std::puts(taken.error().message().c_str()), 1;
  std::printf("kept %u of %zu blocks\n", stored.get_future().get().kept, chain.size());

  // 5. A later request with the same prefix: load what is worth loading, compute the rest.
  const Tokens prompt(16 * 64 + 10);
  const auto load = (*engine)->load({.id = 1, .prompt = prompt, .blocks = chain});
  const LoadProgress end = load->wait();
  const bool ours = end.ready > 0 && std::memcmp(load->row(0).data(), rows[0].data(), row) == 0;
  std::printf("load %u blocks, compute %lld tokens; the bytes are %s\n", end.ready,
              static_cast<long long>((prompt - Tokens(64) * end.ready).value()), ours ? "ours" : "missing");
  return (*engine)->close(Seconds(5)) ? 0 : 1;
}
