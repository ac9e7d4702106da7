// Copier: moves rows in host memory off the engine's thread.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace fulcrum::engine {

struct RowCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
};

class Copier {
 public:
  virtual ~Copier() = default;
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;
  /// Copies all rows, then calls `done`, which must be quick; from another thread or from here.
  virtual void copy(std::vector<RowCopy> rows, std::size_t row_bytes, std::function<void()> done) = 0;

 protected:
  Copier() = default;
};

/// Copies at once; done when the owner says so: in simulation nothing happens behind the core's back.
class InlineCopier final : public Copier {
 public:
  void copy(std::vector<RowCopy> rows, std::size_t row_bytes, std::function<void()> done) override {
    for (const RowCopy& row : rows) std::memcpy(row.to, row.from, row_bytes);
    done_.push_back(std::move(done));
  }
  /// Tells of what was copied. True where there was any.
  bool pump() {
    std::vector<std::function<void()>> done = std::exchange(done_, {});
    for (const auto& each : done) each();
    return !done.empty();
  }

 private:
  std::vector<std::function<void()>> done_;
};

}  // namespace fulcrum::engine
