#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/bench/canary.cpp"
// Loops of so few instructions gain nothing from what lies between these levels.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#define HWY_DISABLE_PCLMUL_AES
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <array>

#include "canary.h"

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint64_t>;
constexpr std::size_t kPiece = 2048;  // bytes of one tensor before the next one's turn

// A place that the compiler cannot know nobody reads.
inline void keep(std::uint64_t x) { asm volatile("" : : "r"(x) : "memory"); }

HWY_ATTR std::uint64_t read(const std::byte* from, std::size_t bytes) {
  const Words d;
  const std::size_t step = 4 * hn::Lanes(d) * sizeof(std::uint64_t);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  std::size_t at = 0;
  for (; at + step <= bytes; at += step) {
    const auto* p = reinterpret_cast<const std::uint64_t*>(from + at);
    a = hn::Xor(a, hn::LoadU(d, p));
    b = hn::Xor(b, hn::LoadU(d, p + hn::Lanes(d)));
    c = hn::Xor(c, hn::LoadU(d, p + 2 * hn::Lanes(d)));
    e = hn::Xor(e, hn::LoadU(d, p + 3 * hn::Lanes(d)));
  }
  std::uint64_t rest = 0;
  for (; at < bytes; ++at) rest ^= static_cast<std::uint64_t>(from[at]);
  return rest ^ hn::GetLane(hn::Xor(hn::Xor(a, b), hn::Xor(c, e)));
}

template <bool streaming>
HWY_ATTR void write(std::byte* to, std::size_t bytes, std::uint64_t word) {
  const Words d;
  const std::size_t step = hn::Lanes(d) * sizeof(std::uint64_t);
  const auto v = hn::Set(d, word);
  std::size_t at = 0;
  for (; at + step <= bytes; at += step) {
    auto* p = reinterpret_cast<std::uint64_t*>(to + at);
    if constexpr (streaming)
      hn::Stream(v, d, p);
    else
      hn::Store(v, d, p);
  }
  for (; at < bytes; ++at) to[at] = static_cast<std::byte>(word);
}

// The piece of a tensor that is due when `done` of `pieces` are.
struct Piece {
  std::size_t begin;
  std::size_t end;
};
Piece piece(std::size_t bytes, std::size_t done, std::size_t pieces) {
  const auto cut = [&](std::size_t i) { return i == pieces ? bytes : bytes / pieces * i / 64 * 64; };
  return {cut(done), cut(done + 1)};
}

template <bool streaming>
HWY_ATTR void stream_pieces(std::span<const std::span<const std::byte>> inputs,
                            std::span<const std::span<std::byte>> outputs) {
  std::size_t longest = 1;
  for (const auto& t : inputs) longest = std::max(longest, t.size());
  for (const auto& t : outputs) longest = std::max(longest, t.size());
  const std::size_t pieces = (longest + kPiece - 1) / kPiece;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    for (const auto& t : inputs) {
      const Piece p = piece(t.size(), i, pieces);
      seen ^= read(t.data() + p.begin, p.end - p.begin);
    }
    for (const auto& t : outputs) {
      const Piece p = piece(t.size(), i, pieces);
      write<streaming>(t.data() + p.begin, p.end - p.begin, i);
    }
  }
  if constexpr (streaming) hwy::FlushStream();
  keep(seen);
}

HWY_ATTR void Stream(std::span<const std::span<const std::byte>> inputs,
                     std::span<const std::span<std::byte>> outputs, bool streaming) {
  if (streaming)
    stream_pieces<true>(inputs, outputs);
  else
    stream_pieces<false>(inputs, outputs);
}

// Ten chains: five cycles of latency on two units. No more, so that they fit into 16 registers with their factors.
template <class T>
HWY_ATTR double multiply_add(std::int64_t repeats) {
  const hn::ScalableTag<T> d;
  const auto factor = hn::Set(d, static_cast<T>(0.5));
  const auto summand = hn::Set(d, static_cast<T>(1));
  auto a = summand, b = summand, c = summand, e = summand, f = summand, g = summand, h = summand, i = summand,
       j = summand, k = summand;
  for (std::int64_t r = 0; r < repeats; ++r) {
    a = hn::MulAdd(a, factor, summand);
    b = hn::MulAdd(b, factor, summand);
    c = hn::MulAdd(c, factor, summand);
    e = hn::MulAdd(e, factor, summand);
    f = hn::MulAdd(f, factor, summand);
    g = hn::MulAdd(g, factor, summand);
    h = hn::MulAdd(h, factor, summand);
    i = hn::MulAdd(i, factor, summand);
    j = hn::MulAdd(j, factor, summand);
    k = hn::MulAdd(k, factor, summand);
  }
  const auto all = hn::Add(
      hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i))), hn::Add(j, k));
  keep(static_cast<std::uint64_t>(hn::GetLane(all)));
  return 2.0 * 10.0 * static_cast<double>(hn::Lanes(d)) * static_cast<double>(repeats);
}

HWY_ATTR double MultiplyAdd32(std::int64_t repeats) { return multiply_add<float>(repeats); }
HWY_ATTR double MultiplyAdd64(std::int64_t repeats) { return multiply_add<double>(repeats); }
const char* Target() { return hwy::TargetName(HWY_TARGET); }

}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(Stream);
HWY_EXPORT(MultiplyAdd32);
HWY_EXPORT(MultiplyAdd64);
HWY_EXPORT(Target);

void stream(std::span<const std::span<const std::byte>> inputs, std::span<const std::span<std::byte>> outputs,
            bool streaming) {
  HWY_DYNAMIC_DISPATCH(Stream)(inputs, outputs, streaming);
}
double multiply_add_f32(std::int64_t repeats) { return HWY_DYNAMIC_DISPATCH(MultiplyAdd32)(repeats); }
double multiply_add_f64(std::int64_t repeats) { return HWY_DYNAMIC_DISPATCH(MultiplyAdd64)(repeats); }
const char* canary_target() { return HWY_DYNAMIC_DISPATCH(Target)(); }

}  // namespace assay
#endif
