// ByteWriter, ByteReader: little-endian fields in a span, in order. Used by the store's format only.
//
// The writer's span is large enough by construction: running over it is a programmer's error. The reader's
// bytes come from anywhere: reading past the end yields zeros and ok() turns false for good, so that a
// decoder reads all its fields first and asks once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/check.h"

namespace fulcrum {

static_assert(std::endian::native == std::endian::little, "the store's format is little-endian");

class ByteWriter {
 public:
  explicit ByteWriter(std::span<std::byte> out) : out_(out) {}

  template <class T>
  void put(std::type_identity_t<T> value) {
    static_assert(std::is_arithmetic_v<T>);
    copy(&value, sizeof value);
  }
  /// A length of two bytes, then the text.
  void text(std::string_view text) {
    put<std::uint16_t>(static_cast<std::uint16_t>(text.size()));
    copy(text.data(), text.size());
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void copy(const void* from, std::size_t size) {
    FULCRUM_CHECK(size <= out_.size() - size_, "the encoding does not fit its buffer");
    if (size > 0) std::memcpy(out_.data() + size_, from, size);
    size_ += size;
  }
  std::span<std::byte> out_;
  std::size_t size_ = 0;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> in) : in_(in) {}

  template <class T>
  [[nodiscard]] T get() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    const std::span<const std::byte> bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::string text() {
    const std::span<const std::byte> bytes = take(get<std::uint16_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// The next `size` bytes, or none where there are fewer.
  [[nodiscard]] std::span<const std::byte> take(std::size_t size) {
    if (size > in_.size()) ok_ = false;
    if (!ok_) return {};
    const std::span<const std::byte> head = in_.first(size);
    in_ = in_.subspan(size);
    return head;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::span<const std::byte> rest() const { return in_; }

 private:
  std::span<const std::byte> in_;
  bool ok_ = true;
};

}  // namespace fulcrum
