// Elements by the thousand: loops of one dtype, which the compiler makes vectors of.
#include <cstddef>
#include <cstring>

#include "dtype.h"

namespace assay {

namespace {

template <class T>
void load_as(const std::byte* from, std::span<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T x;
    std::memcpy(&x, from + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(x);
  }
}

template <class T>
void store_as(std::byte* to, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T x = static_cast<T>(values[i]);
    std::memcpy(to + i * sizeof(T), &x, sizeof(T));
  }
}

}  // namespace

void load_all(const void* elements, Dtype d, std::span<double> values) {
  const auto* const from = static_cast<const std::byte*>(elements);
  if (d == Dtype::f32) return load_as<float>(from, values);
  if (d == Dtype::f64) return load_as<double>(from, values);
  const auto size = static_cast<std::size_t>(bytes(d));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = load(from + i * size, d);
}

void store_all(void* elements, Dtype d, std::span<const double> values) {
  auto* const to = static_cast<std::byte*>(elements);
  if (d == Dtype::f32) return store_as<float>(to, values);
  if (d == Dtype::f64) return store_as<double>(to, values);
  const auto size = static_cast<std::size_t>(bytes(d));
  for (std::size_t i = 0; i < values.size(); ++i) store(to + i * size, d, values[i]);
}

}  // namespace assay
