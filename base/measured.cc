#include "fulcrum/measured.h"

namespace fulcrum {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::good:
      return "good";
    case Verdict::noisy:
      return "noisy";
    case Verdict::cpu_bound:
      return "cpu_bound";
    case Verdict::throttled:
      return "throttled";
    case Verdict::estimated:
      return "estimated";
    case Verdict::cached:
      return "cached";
    case Verdict::invalid:
      break;
  }
  return "invalid";
}

}  // namespace fulcrum
