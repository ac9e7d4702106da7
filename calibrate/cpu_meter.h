// CpuMeter: processor time that the measuring thread has used, to notice when the thread is the limit.
#pragma once

#include <functional>

#include "fulcrum/units.h"

namespace fulcrum::calibrate {

using CpuMeter = std::function<Seconds()>;

/// User and system time of the calling thread.
[[nodiscard]] Seconds thread_cpu_time();

}  // namespace fulcrum::calibrate
