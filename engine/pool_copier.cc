#include "engine/pool_copier.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstring>
#include <utility>

#include "base/out_of_memory.h"

namespace fulcrum::engine {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kPieceBytes = std::size_t{8} << 20;

class AsioCopier final : public PoolCopier {
 public:
  explicit AsioCopier(int threads) : threads_(static_cast<std::size_t>(std::max(1, threads))) {}

  void copy(std::vector<RowCopy> rows, std::size_t row_bytes, std::function<void()> done) override {
    const std::size_t piece = std::max<std::size_t>(1, kPieceBytes / row_bytes);
    auto whole = std::make_shared<Whole>();
    whole->rows = std::move(rows);
    whole->done = std::move(done);
    whole->left = (whole->rows.size() + piece - 1) / piece;
    for (std::size_t begin = 0; begin < whole->rows.size(); begin += piece) {
      const std::size_t end = std::min(begin + piece, whole->rows.size());
      asio::post(threads_, [whole, begin, end, row_bytes] {
        for (std::size_t i = begin; i < end; ++i) {
          std::memcpy(whole->rows[i].to, whole->rows[i].from, row_bytes);
        }
        if (whole->left.fetch_sub(1) == 1) or_stop("a copying thread", [&] { whole->done(); });
      });
    }
  }
  void stop() override { threads_.join(); }

 private:
  struct Whole {
    std::vector<RowCopy> rows;
    std::function<void()> done;
    std::atomic<std::size_t> left = 0;
  };
  asio::thread_pool threads_;
};

}  // namespace

std::unique_ptr<PoolCopier> make_pool_copier(int threads) {
  return std::make_unique<AsioCopier>(threads);
}

}  // namespace fulcrum::engine
