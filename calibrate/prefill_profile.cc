#include <algorithm>
#include <string>
#include <utility>

#include "calibrate/prefill_source.h"
#include "model/datasheet.h"

namespace fulcrum::calibrate {

namespace {

PrefillProfile profile_of(PrefillSource source, std::string gpu, const ModelShape& model, PrefillCost cost) {
  PrefillProfile profile;
  profile.source = source;
  profile.gpu = std::move(gpu);
  profile.model = model.name;
  profile.kv_bytes_per_token = model.kv_bytes_per_token();
  profile.kv_bytes_fixed = model.kv_bytes_fixed();
  profile.cost = std::move(cost);
  return profile;
}

}  // namespace

Result<PrefillProfile> prefill_profile_from_samples(std::span<const PrefillSample> samples,
                                                    const ModelShape& model, std::string gpu,
                                                    const PrefillFitOptions& fit, PrefillSource source) {
  auto cost = fit_prefill(samples, fit);
  if (cost.has_error()) return cost.error();
  PrefillProfile profile = profile_of(source, std::move(gpu), model, std::move(*cost));
  profile.samples = static_cast<int>(samples.size());
  return profile;
}

Result<PrefillProfile> prefill_profile_from_server(const PrefillServerReport& report, const ModelShape& model,
                                                   const PrefillFitOptions& fit) {
  auto profile =
      prefill_profile_from_samples(report.samples, model, report.server, fit, PrefillSource::server);
  if (profile.has_error()) return profile;
  profile->model = report.model;
  profile->cost.verdict = std::max(profile->cost.verdict, report.verdict);
  return profile;
}

Result<PrefillProfile> prefill_profile_from_datasheet(std::string_view gpu, const ModelShape& model) {
  const auto sheet = find_gpu(gpu);
  if (sheet.has_error()) return sheet.error();
  auto cost = prefill_from_datasheet(model, *sheet);
  if (cost.has_error()) return cost.error();
  const int count = gpus_needed(model, *sheet);
  std::string name(sheet->name);
  if (count > 1) name = std::to_string(count) + " x " + name;
  return profile_of(PrefillSource::datasheet, std::move(name), model, std::move(*cost));
}

}  // namespace fulcrum::calibrate
