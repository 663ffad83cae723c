// The driver of sums over everything but the channel: out[c] = sum over n, l of term(x0[n,c,l], x1[n,c,l],
// ...). Compiled for each level.
//
//   struct Product {
//     template <class D, class V>
//     HWY_INLINE V operator()(D d, V sum, V x, V y) const { return hn::MulAdd(x, y, sum); }
//   };
//   channel_sum(Product{}, out, x, y);
//
// x are tensors of one shape and of the output's dtype. The channel is dimension 1; an output of one element
// sums over all dimensions.
//
// The order of accumulation follows indices alone, so the bits depend neither on layouts nor on threads. Let
// l count the positions after dimension 1 and n dimension 0. The longer-stepping axis j is l, if there are
// at least kChains of them, else n; the other one is i. A piece is up to kPiece values of j (with j = l for
// one n, with j = n for every l). In a piece term j goes to chain j mod kChains, i outermost; the chains are
// added as a tree; the pieces of a channel, in order, go to chains in the same way. A term therefore passes
// at most i * kPiece / kChains + pieces / kChains + 8 additions in the compute type.
//
// Three ways in memory: along l in place where l is dense; across channels where those are dense
// (channels-last and [N, C]), one vector of channels for each chain; else l or n is gathered.
#include <vector>

#include "../geometry/space.h"
#include "gather.h"
#include "lanes.h"
#include "parallel.h"

#if defined(ASSAY_CPU_CHANNEL_SUM_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_CHANNEL_SUM_H
#undef ASSAY_CPU_CHANNEL_SUM_H
#else
#define ASSAY_CPU_CHANNEL_SUM_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kChains = 16;
inline constexpr std::int64_t kPiece = 1024;
inline constexpr std::int64_t kChannelSumGrain = 32768;  // terms

// Adds term(x[0][j], ...) to chains[j mod kChains], j in [0, n).
template <class T, class Op, std::size_t... k>
HWY_NOINLINE void add_terms(const Op& op, Compute<T>* chains, const T* const* x, std::int64_t n,
                            std::index_sequence<k...>) {
  const hn::ScalableTag<Compute<T>> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t c = 0; c < kChains; c += lanes) {
    auto sum = hn::LoadU(d, chains + c);
    std::int64_t j = c;
    for (; j + lanes <= n; j += kChains) sum = op(d, sum, load(d, x[k] + j)...);
    if (j < n) {
      const auto on = hn::FirstN(d, static_cast<std::size_t>(n - j));
      sum = hn::IfThenElse(on, op(d, sum, load_n(d, x[k] + j, n - j)...), sum);
    }
    hn::StoreU(sum, d, chains + c);
  }
}

template <class C>
HWY_INLINE C tree(C* chains) {
  for (std::int64_t w = kChains / 2; w > 0; w /= 2)
    for (std::int64_t i = 0; i < w; ++i) chains[i] += chains[i + w];
  return chains[0];
}

// Sizes and strides of the three axes, the last one joined where `dense_l` says so.
template <std::size_t inputs>
struct ChannelAxes {
  const View* const* views;  // the inputs
  std::int64_t n, c, l;
  std::int64_t stride_n[inputs], stride_c[inputs];
  Space space_l;

  ChannelAxes(const View* const* x, bool whole) : views(x), n(1), c(1) {
    const View& first = *x[0];
    space_l = row_major_space(x, inputs, whole ? 0 : 2, first.rank());
    l = space_l.count;
    for (std::size_t k = 0; k < inputs; ++k) stride_n[k] = stride_c[k] = 0;
    if (whole) return;
    n = first.size(0);
    c = first.size(1);
    for (std::size_t k = 0; k < inputs; ++k) {
      stride_n[k] = x[k]->stride(0);
      stride_c[k] = x[k]->stride(1);
    }
  }
  bool along_l() const { return l >= kChains; }
  bool l_has_stride(std::int64_t stride) const {
    for (std::size_t k = 0; k < inputs; ++k)
      if (space_l.rank > 1 || (space_l.rank == 1 && space_l.stride[k][0] != stride)) return false;
    return true;
  }
  bool c_is_dense() const {
    for (std::size_t k = 0; k < inputs; ++k)
      if (stride_c[k] != 1 || space_l.rank > 1) return false;
    return true;
  }
  std::int64_t pieces_of_j() const { return ((along_l() ? l : n) + kPiece - 1) / kPiece; }
  std::int64_t pieces() const { return along_l() ? n * pieces_of_j() : pieces_of_j(); }
};

// One piece: i in [0, i_count) and j in [0, j_count) after an origin.
template <std::size_t inputs>
struct Piece {
  std::int64_t i_count, j_count;
  std::int64_t origin[inputs];                      // elements, without the channel
  std::int64_t stride_i[inputs], stride_j[inputs];  // meaningless along l if that has more than one dimension
  std::int64_t first_l;

  Piece(const ChannelAxes<inputs>& axes, std::int64_t number) {
    const std::int64_t j = number % axes.pieces_of_j() * kPiece, n = number / axes.pieces_of_j();
    const bool along_l = axes.along_l();
    i_count = along_l ? 1 : axes.l;
    j_count = HWY_MIN(kPiece, (along_l ? axes.l : axes.n) - j);
    first_l = along_l ? j : 0;
    for (std::size_t k = 0; k < inputs; ++k) {
      const std::int64_t stride_l = axes.space_l.step(k);
      stride_i[k] = along_l ? 0 : stride_l;
      stride_j[k] = along_l ? stride_l : axes.stride_n[k];
      origin[k] = along_l ? n * axes.stride_n[k] : j * axes.stride_n[k];
    }
  }
};

template <class T, std::size_t inputs>
struct ChannelSum {
  using C = Compute<T>;
  const ChannelAxes<inputs>& axes;

  template <class Op, std::size_t... k>
  C dense_piece(const Op& op, std::int64_t number, std::int64_t c, std::index_sequence<k...> indices) const {
    const Piece<inputs> piece(axes, number);
    C chains[kChains] = {};
    const T* const x[] = {axes.views[k]->template as<const T>() + piece.origin[k] + c * axes.stride_c[k] +
                          piece.first_l...};
    add_terms<T>(op, chains, x, piece.j_count, indices);
    return tree(chains);
  }

  template <class Op, std::size_t... k>
  C gathered_piece(const Op& op, std::int64_t number, std::int64_t c,
                   std::index_sequence<k...> indices) const {
    const Piece<inputs> piece(axes, number);
    const Dtype type = axes.views[0]->type();
    C chains[kChains] = {};
    C buffer[inputs][kPiece];
    const C* const x[] = {buffer[k]...};
    const auto get = [&](C* to, std::size_t i, std::int64_t offset, std::int64_t step,
                         std::int64_t n) HWY_ATTR {
      gather(to, axes.views[i]->template as<const T>() + piece.origin[i] + c * axes.stride_c[i] + offset,
             type, step, type, n);
    };
    if (axes.along_l()) {
      for (std::size_t i = 0; i < inputs; ++i) {
        C* to = buffer[i];
        for (Runs run(axes.space_l, piece.first_l, piece.first_l + piece.j_count); !run.done(); run.next()) {
          get(to, i, run.offset[i], axes.space_l.stride[i][0], run.length);
          to += run.length;
        }
      }
      add_terms<C>(op, chains, x, piece.j_count, indices);
    } else {
      for (std::int64_t l = 0; l < piece.i_count; ++l) {
        const Runs at(axes.space_l, l, l + 1);
        for (std::size_t i = 0; i < inputs; ++i)
          get(buffer[i], i, at.offset[i], piece.stride_j[i], piece.j_count);
        add_terms<C>(op, chains, x, piece.j_count, indices);
      }
    }
    return tree(chains);
  }

  // A piece of up to a vector of channels: to[0], to[1], ... Here every chain is a vector, a lane for each
  // channel.
  template <class Op, std::size_t... k>
  HWY_NOINLINE void across_channels(const Op& op, std::int64_t number, std::int64_t c, std::int64_t n, C* to,
                                    std::index_sequence<k...>) const {
    const Piece<inputs> piece(axes, number);
    const hn::ScalableTag<C> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    HWY_ALIGN C chains[kChains * HWY_MAX_BYTES / sizeof(C)] = {};
    for (std::int64_t i = 0; i < piece.i_count; ++i) {
      const T* x[] = {axes.views[k]->template as<const T>() + piece.origin[k] +
                      (piece.first_l * piece.stride_j[k] + i * piece.stride_i[k]) + c...};
      for (std::int64_t j = 0; j < piece.j_count; ++j) {
        C* const chain = chains + j % kChains * lanes;
        const auto sum = hn::Load(d, chain);
        hn::Store(n < lanes ? op(d, sum, load_n(d, x[k], n)...) : op(d, sum, load(d, x[k])...), d, chain);
        ((x[k] += piece.stride_j[k]), ...);
      }
    }
    for (std::int64_t w = kChains / 2; w > 0; w /= 2)
      for (std::int64_t i = 0; i < w; ++i)
        hn::Store(hn::Add(hn::Load(d, chains + i * lanes), hn::Load(d, chains + (i + w) * lanes)), d,
                  chains + i * lanes);
    for (std::int64_t i = 0; i < n; ++i) to[i] = chains[i];
  }

  template <class Op, std::size_t... k>
  void run(const Op& op, const View& out, std::index_sequence<k...> indices) const {
    const std::int64_t pieces = axes.pieces(), channels = axes.c;
    constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
    const std::int64_t terms = HWY_MAX(std::int64_t{1}, axes.n * axes.l / HWY_MAX(pieces, std::int64_t{1}));
    std::vector<C> partial(static_cast<std::size_t>(pieces * channels));  // [piece][channel]
    const bool across = axes.c_is_dense() && channels >= lanes / 2;
    const bool dense = axes.along_l() && axes.l_has_stride(1);
    const std::int64_t width = across ? lanes : 1, groups = (channels + width - 1) / width;
    parallel_for(pieces * groups, 1 + kChannelSumGrain / (terms * width),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t number = i / groups, c = i % groups * width;
                     C* const to = &partial[static_cast<std::size_t>(number * channels + c)];
                     if (across)
                       across_channels(op, number, c, HWY_MIN(width, channels - c), to, indices);
                     else
                       *to = dense ? dense_piece(op, number, c, indices)
                                   : gathered_piece(op, number, c, indices);
                   }
                 });
    for (std::int64_t c = 0; c < channels; ++c) {
      C chains[kChains] = {};
      for (std::int64_t p = 0; p < pieces; ++p)
        chains[p % kChains] += partial[static_cast<std::size_t>(p * channels + c)];
      const C sum = tree(chains);
      scatter(out.template as<T>() + c * out.stride(0), out.type(), 1, &sum, 1);
    }
  }
};

template <class Op, class... Inputs>
void channel_sum(const Op& op, const View& out, const Inputs&... inputs) {
  const View* const views[] = {&inputs...};
  const ChannelAxes<sizeof...(inputs)> axes(views, out.size(0) == 1);
  ASSAY_CPU_WITH_ELEMENT(
      out.type(), T,
      ChannelSum<T, sizeof...(inputs)>{axes}.run(op, out, std::index_sequence_for<Inputs...>()));
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
