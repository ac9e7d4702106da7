// Writes the binary seeds anew after the format has changed:
//   fuzz_write_corpus tests/fuzz/corpus
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/seeds.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY\n", arguments[0]);
    return 2;
  }
  const std::filesystem::path corpus = arguments[1];
  for (const auto& [name, bytes] : fulcrum::fuzz::binary_seeds()) {
    const std::filesystem::path path = corpus / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
