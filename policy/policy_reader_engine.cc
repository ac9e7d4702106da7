#include "policy/policy_reader.h"

namespace fulcrum {
namespace {

constexpr std::int64_t kMostThreads = 64;
constexpr std::int64_t kLastNode = 1023;
// By default a device may keep this share of the staging before it is given up.
constexpr std::int64_t kLimboShare = 4;

}  // namespace

void PolicyReader::read_engine(MapReader reader) {
  EnginePolicy& engine = policy_.engine;
  for (const char* key : {"staging", "deadline", "copy_threads", "shared_memory", "huge_pages", "numa_node",
                          "limbo", "foreign"})
    note(reader, "engine.", key);
  engine.deadline = reader.seconds_or("deadline", engine.deadline, {1e-3, 3600});
  engine.copy_threads =
      static_cast<int>(reader.integer_or("copy_threads", engine.copy_threads, {1, kMostThreads}));
  read_memory(reader);
  engine.replace_foreign = reader.choice_or("foreign", engine.replace_foreign ? 1 : 0, kForeignNames) == 1;
  reader.finish();
}

void PolicyReader::read_memory(MapReader& reader) {
  EnginePolicy& engine = policy_.engine;
  engine.staging = reader.bytes_or("staging", engine.staging, {kLeastCapacity, kMostCapacity});
  engine.limbo = reader.bytes_or("limbo", engine.staging / kLimboShare, {0, kMostCapacity});
  if (engine.limbo >= engine.staging) {
    reader.problem("limbo", "leaves nothing of the staging (" + format(engine.staging) +
                                ") to other tiers; give it less");
  }
  engine.shared_memory = reader.boolean_or("shared_memory", engine.shared_memory);
  const auto pages = static_cast<std::size_t>(engine.huge_pages);
  engine.huge_pages =
      static_cast<EnginePolicy::HugePages>(reader.choice_or("huge_pages", pages, kHugePageNames));
  if (!is_word(reader, "numa_node", "auto") && reader.has("numa_node")) {
    engine.numa_node = static_cast<int>(reader.integer("numa_node", {0, kLastNode}));
  }
}

}  // namespace fulcrum
