// JsonFields: checked access to the fields of one JSON object of a trace; keeps the first problem.
//
// A template over the JSON type, so that no header brings the JSON library along.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

namespace fulcrum::replay {

/// Longest prompt that a trace may hold: far above any model, far below an overflow.
inline constexpr std::int64_t kPromptMax = 100'000'000;
/// Latest moment, in seconds: about thirty years.
inline constexpr double kTimeMax = 1e9;

template <class Json>
class JsonFields {
 public:
  JsonFields(const Json& object, std::string& problem) : object_(object), problem_(problem) {}

  std::int64_t integer(const char* key, std::int64_t low, std::int64_t high) {
    const Json* field = find(key);
    if (field == nullptr) return low;
    if (!field->is_number_integer()) return refuse(key, "is not a whole number"), low;
    const bool fits = field->is_number_unsigned()
                          ? field->template get<std::uint64_t>() <= static_cast<std::uint64_t>(high)
                          : field->template get<std::int64_t>() <= high;
    if (!fits || field->template get<std::int64_t>() < low) return refuse_range(key, low, high), low;
    return field->template get<std::int64_t>();
  }

  double number(const char* key, double low, double high) {
    const Json* field = find(key);
    if (field == nullptr) return low;
    if (!field->is_number()) return refuse(key, "is not a number"), low;
    const double value = field->template get<double>();
    if (!(value >= low && value <= high)) return refuse_range(key, low, high), low;
    return value;
  }

  double number_or(const char* key, double fallback, double low, double high) {
    return has(key) ? number(key, low, high) : fallback;
  }

  /// The field if it is a list, otherwise a null pointer and a problem.
  const Json* list(const char* key) {
    const Json* field = find(key);
    if (field != nullptr && !field->is_array()) return refuse(key, "is not a list"), nullptr;
    return field;
  }

  [[nodiscard]] bool has(const char* key) const { return object_.is_object() && object_.contains(key); }
  [[nodiscard]] bool good() const { return problem_.empty(); }

  void refuse(const char* key, const std::string& what) {
    if (problem_.empty()) problem_ = std::string(key) + " " + what;
  }

 private:
  template <class Number>
  void refuse_range(const char* key, Number low, Number high) {
    refuse(key, "is not within " + trimmed(low) + " and " + trimmed(high));
  }

  static std::string trimmed(std::int64_t number) { return std::to_string(number); }
  static std::string trimmed(double number) { return std::to_string(std::llround(number)); }

  const Json* find(const char* key) {
    if (has(key)) return &object_.at(key);
    refuse(key, object_.is_object() ? "is missing" : "is missing: the line is not an object");
    return nullptr;
  }

  const Json& object_;
  std::string& problem_;
};

}  // namespace fulcrum::replay
