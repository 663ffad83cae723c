// The types of PTX, for choosing a template by the name of one.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::cuda::ptx {

template <class T>
struct Type {
  using type = T;
};

// f(Type<T>) for the integer of that name, bits taken as unsigned; null for others.
template <class F>
auto of_integer(std::string_view name, F f) -> decltype(f(Type<std::uint8_t>{})) {
  if (name == "u8" || name == "b8") return f(Type<std::uint8_t>{});
  if (name == "u16" || name == "b16") return f(Type<std::uint16_t>{});
  if (name == "u32" || name == "b32") return f(Type<std::uint32_t>{});
  if (name == "u64" || name == "b64") return f(Type<std::uint64_t>{});
  if (name == "s8") return f(Type<std::int8_t>{});
  if (name == "s16") return f(Type<std::int16_t>{});
  if (name == "s32") return f(Type<std::int32_t>{});
  if (name == "s64") return f(Type<std::int64_t>{});
  return nullptr;
}

template <class F>
auto of_float(std::string_view name, F f) -> decltype(f(Type<float>{})) {
  if (name == "f32") return f(Type<float>{});
  if (name == "f64") return f(Type<double>{});
  return nullptr;
}

template <class F>
auto of_number(std::string_view name, F f) -> decltype(f(Type<float>{})) {
  const auto found = of_float(name, f);
  return found != nullptr ? found : of_integer(name, f);
}

}  // namespace assay::cuda::ptx
