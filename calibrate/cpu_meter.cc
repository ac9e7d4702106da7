#include "calibrate/cpu_meter.h"

#include <sys/resource.h>

namespace fulcrum::calibrate {

Seconds thread_cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return Seconds(seconds(usage.ru_utime) + seconds(usage.ru_stime));
}

}  // namespace fulcrum::calibrate
