#include <algorithm>

#include "base/check.h"
#include "policy/decider_impl.h"

namespace fulcrum {
namespace {

// Writing down keeps room for the largest recent offer, within these shares of the tier: what has to leave at
// once, to make room, cannot be copied down any more.
constexpr std::int64_t kReserveLeast = 16;
constexpr std::int64_t kReserveMost = 2;
constexpr std::int64_t kOfferFade = 32;
// Where something was lost all the same, so many times as much is kept free beside that: what was lost fades
// as the offer does, so that this is what is lost in some 128 offers.
constexpr std::int64_t kShedWeight = 4;
// Chains that a device has no room for as a whole go down in parts of at least this share of what it takes.
constexpr std::int64_t kParts = 8;
// Nodes that writing down looks at and leaves alone before it gives up until the next event.
constexpr std::size_t kLooks = 16;

}  // namespace

bool Decider::Impl::orphan(NodeId node) const {
  const NodeId parent = index_[node].parent;
  return parent != kRoot && index_[parent].present() == 0 && index_[node].present() != 0;
}

Bytes Decider::Impl::reserve(TierId tier) const {
  const Bytes capacity = residency_.tier(tier).capacity;
  const Bytes wished = state(tier).offered + state(tier).shed * kShedWeight;
  const Bytes share = std::clamp(wished, capacity / kReserveLeast, capacity / kReserveMost);
  return std::max(share, costs_.block_bytes());
}

void Decider::Impl::note_offer(TierId tier, std::uint32_t blocks) {
  Bytes& offered = state(tier).offered;
  offered = std::max(offered - offered / kOfferFade, bytes(blocks));
  state(tier).shed -= state(tier).shed / kOfferFade;
}

// Offers a computed chain to a tier, front to back, and stops where it does not fit: a back without its front
// is of no use.
void Decider::Impl::admit(std::span<const BlockKey> blocks, TierId tier) {
  const auto count = static_cast<std::uint32_t>(blocks.size());
  index_.trace(blocks, path_);
  const auto absent =
      std::find_if(path_.begin(), path_.end(), [&](NodeId id) { return !index_[id].in(tier); });
  if (absent == path_.end()) return;
  const std::uint32_t first = index_[*absent].start;
  const bool pays = valuation_->admits(tier, costs_.block_tokens() * static_cast<std::int64_t>(count));
  if (!pays || !writable(tier)) {
    state(tier).refused += count - first;
    return;
  }
  note_offer(tier, count - first);
  const NodeId above = absent == path_.begin() ? kNoNode : *(absent - 1);
  if (above != kNoNode) residency_.hold(above, tier);
  const std::uint64_t shed_before = residency_.tier(tier).shed;
  NodeId last = kNoNode;
  std::uint32_t admitted = 0;
  for (auto at = absent; at != path_.end() && !index_[*at].in(tier); ++at) {
    const std::uint32_t wanted = index_[*at].count();
    const std::uint32_t fits = admit_node(*at, tier, wanted);
    if (fits == 0) break;
    last = fits < wanted ? index_.split(*at, fits) : *at;
    residency_.change(last, index_[last].resident, static_cast<TierMask>(index_[last].pending | bit(tier)));
    admitted += fits;
    if (fits < wanted) break;
  }
  if (admitted > 0) write(last, admitted, tier);
  if (above != kNoNode) residency_.release(above, tier);
  state(tier).refused += count - first - admitted;
  const auto made_way = static_cast<std::uint32_t>(residency_.tier(tier).shed - shed_before);
  const bool wanted = residency_.wanted_below(path_.back(), tier);
  state(tier).shed += bytes(made_way + (wanted ? count - first - admitted : 0));
}

// How many blocks of a node the tier takes now.
std::uint32_t Decider::Impl::admit_node(NodeId node, TierId tier, std::uint32_t most) {
  const std::uint32_t affordable = state(tier).budget.affords(most, costs_.block_bytes());
  residency_.hold(node, kGpu);
  const std::uint32_t fits = residency_.make_room(tier, affordable, residency_.worth(node, tier));
  residency_.release(node, kGpu);
  state(tier).budget.spend(bytes(fits));
  return fits;
}

void Decider::Impl::write(NodeId last, std::uint32_t blocks, TierId tier) {
  Flight flight;
  flight.kind = OrderKind::write;
  flight.source = kGpu;
  flight.target = tier;
  flight.last = last;
  flight.blocks = blocks;
  flight.worth = residency_.worth(last, tier);
  state(tier).written += bytes(blocks);
  orders_.issue(begin(std::move(flight)));
}

// What is behind it in its chains is somewhere: it would be lost with it.
bool Decider::Impl::bears(NodeId node) const {
  for (NodeId child = index_[node].first_child; child != kNoNode; child = index_[child].next) {
    if (index_[child].present() != 0) return true;
  }
  return false;
}

// Of what is to leave a tier, the part that the write budgets below do not carry. Only as much as was lost
// lately: where all gets through in time, a budget that is short for a moment is no reason to choose.
Bytes Decider::Impl::not_carried(TierId tier, Bytes lacking) const {
  const Bytes size = costs_.block_bytes();
  const auto blocks = static_cast<std::uint32_t>(std::max<std::int64_t>(0, lacking.value() / size.value()));
  Bytes carried{};
  for (auto below = static_cast<TierId>(tier + 1); below < costs_.tiers(); ++below) {
    const TierState& target = state(below);
    if (!writable(below)) continue;
    carried += std::min(bytes(target.budget.affords(blocks, size)), target.coming_most - target.coming);
  }
  return std::min(lacking - carried, state(tier).shed * kShedWeight);
}

// A tier below is about to have nothing to write.
bool Decider::Impl::waits(TierId tier) const {
  for (auto below = static_cast<TierId>(tier + 1); below < costs_.tiers(); ++below) {
    if (writable(below) && state(below).coming * 2 < state(below).coming_most) return true;
  }
  return false;
}

// Keeps a reserve free: what is worth least moves down, if a lower tier wants it. Where that is more than can
// be written, the least of all stays behind, to be dropped when its room is needed.
void Decider::Impl::write_down(TierId tier) {
  if ((traffic_.open() & bit(tier)) == 0) return;
  EvictionOrder& leaving = residency_.order(tier);
  skipped_.clear();
  const Bytes staged = tier == 0 ? staged_bytes_ : Bytes(0);
  const auto lacking = [&] {  // bytes
    const Residency::Tier& own = residency_.tier(tier);
    return own.used - state(tier).leaving - staged + reserve(tier) - own.capacity;
  };
  Bytes behind = not_carried(tier, lacking());
  while (lacking() > Bytes(0) && !leaving.empty() && skipped_.size() < kLooks) {
    const NodeId id = leaving.least();
    if (behind > Bytes(0) && index_[id].present() == bit(tier) && !bears(id)) {
      behind -= bytes(index_[id].count());
    } else if (leave(id, tier, lacking())) {
      continue;
    }
    leaving.remove(id);
    skipped_.push_back(id);
  }
  // Nothing else can go: rather than wait, a device writes the best of what was to stay.
  for (auto id = skipped_.rbegin(); id != skipped_.rend() && lacking() > Bytes(0) && waits(tier); ++id) {
    // What made room below may have taken it along.
    if (residency_.may_leave(*id, tier)) static_cast<void>(leave(*id, tier, lacking()));
  }
  for (const NodeId id : skipped_) residency_.refresh(id);
}

// Sends an idle leaf of a tier down, or drops what is lacking of it where a lower tier has it anyway.
bool Decider::Impl::leave(NodeId node, TierId tier, Bytes lacking) {
  if (((index_[node].resident & traffic_.open()) >> (tier + 1)) != 0) {
    const std::int64_t blocks = (lacking.value() - 1) / costs_.block_bytes().value() + 1;
    const std::int64_t back = std::min<std::int64_t>(blocks, index_[node].count());
    residency_.drop(residency_.cut_back(node, static_cast<std::uint32_t>(back)), tier);
    return true;
  }
  const std::uint32_t reach = std::max(index_[node].reach, index_[node].end());
  for (auto below = static_cast<TierId>(tier + 1); below < costs_.tiers(); ++below) {
    if (!writable(below) || index_[node].in(below)) continue;
    if (!valuation_->admits(below, costs_.block_tokens() * static_cast<std::int64_t>(reach))) continue;
    if (demote(node, tier, below)) return true;
  }
  return false;
}

bool Decider::Impl::demote(NodeId node, TierId from, TierId to) {
  const TierState& target = state(to);
  const Bytes wished = std::min(reserve(from), bytes(index_[node].count()));
  const Bytes room = target.coming_most - target.coming;
  if (room < std::min(wished, target.coming_most / kParts)) return false;
  const auto most = static_cast<std::uint32_t>(std::min(room, wished).value() / costs_.block_bytes().value());
  const std::uint32_t fits = admit_node(node, to, most);
  if (fits == 0) return false;
  note_offer(to, fits);
  order_demotion(residency_.cut_back(node, fits), from, to);
  return true;
}

void Decider::Impl::order_demotion(NodeId node, TierId from, TierId to) {
  Flight flight;
  flight.kind = OrderKind::demote;
  flight.source = from;
  flight.target = to;
  flight.last = node;
  flight.blocks = index_[node].count();
  flight.worth = residency_.worth(node, to);
  state(from).leaving += bytes(flight.blocks);
  state(to).coming += bytes(flight.blocks);
  state(to).written += bytes(flight.blocks);
  orders_.issue(begin(std::move(flight)));
}

void Decider::Impl::tidy(std::span<const BlockKey> blocks) {
  index_.trace(blocks, path_);
  for (auto id = path_.rbegin(); id != path_.rend(); ++id) index_.join(*id);
}

}  // namespace fulcrum
