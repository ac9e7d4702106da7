#include "fulcrum/decision.h"

namespace fulcrum {

std::string_view to_string(Choice choice) {
  switch (choice) {
    case Choice::recompute:
      return "recompute";
    case Choice::load:
      return "load";
    case Choice::resident:
      return "resident";
    case Choice::miss:
      break;
  }
  return "miss";
}

std::string_view to_string(OrderKind kind) {
  switch (kind) {
    case OrderKind::load:
      return "load";
    case OrderKind::preload:
      return "preload";
    case OrderKind::write:
      return "write";
    case OrderKind::demote:
      return "demote";
    case OrderKind::erase:
      return "erase";
    case OrderKind::cancel:
      break;
  }
  return "cancel";
}

}  // namespace fulcrum
