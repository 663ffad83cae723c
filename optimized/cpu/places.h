// The driver of where the largest of reduced elements is. Compiled for each level.
//
//   place_of_largest(in, out, axes, keepdim);
//
// The first NaN, or the first of the largest numbers, counted in row-major order. Along a row: the largest of a
// block, and only if it beats what came before, where it is. In lanes, for outputs whose inputs lie side by side
// and for short reductions: each lane has a reduction of its own, and keeps the number and its place.
#include "gather.h"
#include "lanes.h"
#include "parallel.h"
#include "reduced.h"

#if defined(ASSAY_CPU_PLACES_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_PLACES_H
#undef ASSAY_CPU_PLACES_H
#else
#define ASSAY_CPU_PLACES_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kPlacesBlock = 1024;
inline constexpr std::int64_t kShortPlaces = 16;       // elements up to which lanes are filled by reductions
inline constexpr std::int64_t kPlacesGrain = 1 << 14;  // elements that are worth another thread

template <class T>
class Places {
 public:
  Places(const View& in, const View& out, const Axes& axes, bool keepdim)
      : in_(in), out_(out), space_(reduced_space(out, in, axes, keepdim)) {
    dense_ = space_.rank == 1 && space_.stride[0] == 1;
    beside_ = space_.kept.rank > 0 && space_.kept.stride[1][0] == 1;
    in_lanes_ = !dense_ && space_.kept.rank > 0 && (beside_ || space_.count <= kShortPlaces) &&
                space_.count <= std::numeric_limits<std::int32_t>::max();
  }

  void run() const {
    parallel_for(space_.kept.count, 1 + kPlacesGrain / (space_.count + 1),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   HWY_ALIGN C buffer[kPlacesBlock];
                   for (Runs run(space_.kept, begin, end); !run.done(); run.next())
                     for (std::int64_t i = 0; i < run.length; i += in_lanes_ ? lanes : 1) {
                       std::int64_t* const y = out_.as<std::int64_t>() + run.offset[0] + i * step(0);
                       const T* const x = in_.as<const T>() + run.offset[1] + i * step(1);
                       if (in_lanes_)
                         side_by_side(y, x, HWY_MIN(lanes, run.length - i), buffer);
                       else
                         *y = along(x, buffer);
                     }
                 });
  }

 private:
  using C = Compute<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  using DI = hn::RebindToSigned<D>;
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);

  struct Best {
    C value = -std::numeric_limits<C>::infinity();
    std::int64_t place = 0;
    bool nan = false;
  };

  std::int64_t step(std::size_t operand) const { return space_.kept.step(operand); }

  // Block by block; n <= kPlacesBlock elements, of which the first is number `first`.
  template <class E>
  HWY_INLINE void look(Best& best, const E* x, std::int64_t n, std::int64_t first) const {
    const D d;
    V largest = hn::Set(d, best.value);
    auto nan = hn::IsNaN(largest);
    const auto at = [&](std::int64_t i) HWY_ATTR {
      if (n - i >= lanes) return load(d, x + i);
      return hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(n - i)), load_n(d, x + i, n - i),
                            hn::Set(d, best.value));
    };
    for (std::int64_t i = 0; i < n; i += lanes) {
      const V value = at(i);
      nan = hn::Or(nan, hn::IsNaN(value));
      largest = hn::IfThenElse(hn::Gt(value, largest), value, largest);
    }
    best.nan = !hn::AllFalse(d, nan);
    const V beaten = hn::MaxOfLanes(d, largest);  // of no NaN: comparisons keep none
    if (!best.nan && !(hn::GetLane(beaten) > best.value)) return;
    for (std::int64_t i = 0; i < n; i += lanes) {
      const V value = at(i);
      const auto found = best.nan ? hn::IsNaN(value) : hn::Eq(value, beaten);
      const std::int64_t lane = static_cast<std::int64_t>(hn::FindFirstTrue(d, found));
      if (lane < 0) continue;
      best.value = hn::GetLane(beaten);
      best.place = first + i + lane;
      return;
    }
  }

  HWY_NOINLINE std::int64_t along(const T* x, C* buffer) const {
    Best best;
    std::int64_t seen = 0;
    for (Walk walk(space_); !walk.done(); walk.next())
      for (std::int64_t i = 0; i < space_.size[0]; i += kPlacesBlock) {
        const std::int64_t n = HWY_MIN(kPlacesBlock, space_.size[0] - i);
        const T* const from = x + walk.offset() + i * space_.stride[0];
        if (dense_) {
          look(best, from, n, seen);
        } else {
          gather(buffer, from, in_.type(), space_.stride[0], in_.type(), n);
          look(best, buffer, n, seen);
        }
        if (best.nan) return best.place;
        seen += n;
      }
    return best.place;
  }

  // `rows` reductions, at most a vector of them.
  HWY_NOINLINE void side_by_side(std::int64_t* y, const T* x, std::int64_t rows, C* buffer) const {
    const D d;
    const DI di;
    using I = hn::TFromD<DI>;
    V largest = hn::Set(d, -std::numeric_limits<C>::infinity());
    auto place = hn::Zero(di);
    for (std::int64_t i = 0; i < lanes; ++i) buffer[i] = 0;
    I j = 0;
    for (Walk walk(space_); !walk.done(); walk.next())
      for (std::int64_t i = 0; i < space_.size[0]; ++i, ++j) {
        const T* const from = x + walk.offset() + i * space_.stride[0];
        V value;
        if (beside_) {
          value = rows < lanes ? load_n(d, from, rows) : load(d, from);
        } else {
          gather(buffer, from, in_.type(), step(1), in_.type(), rows);
          value = hn::Load(d, buffer);
        }
        const auto better = hn::Or(hn::Gt(value, largest), hn::AndNot(hn::IsNaN(largest), hn::IsNaN(value)));
        largest = hn::IfThenElse(better, value, largest);
        place = hn::IfThenElse(hn::RebindMask(di, better), hn::Set(di, j), place);
      }
    HWY_ALIGN I places[lanes];
    hn::Store(place, di, places);
    for (std::int64_t i = 0; i < rows; ++i) y[i * step(0)] = places[i];
  }

  const View& in_;
  const View& out_;
  ReducedSpace space_;
  bool dense_, beside_, in_lanes_;
};

// A template, because an inline function of the level would be a symbol of its own.
template <class... None>
void place_of_largest(const View& in, const View& out, const Axes& axes, bool keepdim) {
  ASSAY_CPU_WITH_ELEMENT(in.type(), T, Places<T>(in, out, axes, keepdim).run());
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
