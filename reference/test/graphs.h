// Graphs as people fuse them, for tests of what is true of any graph.
#pragma once

#include <string_view>

namespace assay::testing {

inline constexpr std::string_view kGraphs[] = {
    "assay::t_swiglu(Tensor gate, Tensor up) -> Tensor { silu(gate) * up }",
    "assay::t_residual(Tensor x, Tensor r, Tensor s) -> Tensor { (x + r) * s - x }",
    "assay::t_rms_norm(Tensor x, Tensor r, Tensor g, float eps) -> (Tensor, Tensor)\n"
    "  domains eps: epsilon\n"
    "{ h = x + r; return h * rsqrt(mean(h * h, -1, true) + eps) * g, h }",
    "assay::t_mlp(Tensor x, Tensor w, Tensor b, Tensor v) -> Tensor { linear(gelu(linear(x, w, b)), v) }",
    "assay::t_bias_gelu(Tensor x, Tensor w, Tensor b, Tensor r) -> Tensor { gelu(mm(x, w) + b, approximate=tanh) + r }",
    "assay::t_attention(Tensor q, Tensor k, Tensor v, float scale) -> Tensor\n"
    "{ bmm(softmax(bmm(q, transpose(k, -2, -1)) * scale, -1), v) }",
    "assay::t_add_layer_norm(Tensor x, Tensor r) -> (Tensor, Tensor)\n"
    "  shapes x=[*,6] r=[*,6] -> [*,6], [*,1]\n"
    "{ y, _, rstd = native_layer_norm(x * r, [6], none, none, 1e-5); return y + x, rstd }",
    "assay::t_conv_relu(Tensor x, Tensor w, Tensor b) -> Tensor\n"
    "  shapes x=[N,C,H,W] w=[K,C,3,3] b=[K] -> [N,K,H,W]\n"
    "{ h = relu(convolution(x, w, b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)); max_pool2d(h, [2, 2]) }",
    "assay::t_glu(Tensor x) -> Tensor { a, b = chunk(x, 2, -1); a * sigmoid(b) }",
    "assay::t_cat(Tensor x, Tensor y) -> Tensor { softmax(cat([x * y, x, exp(y)], -1), -1) }\n",
    "assay::t_clamped(Tensor x, Tensor y) -> Tensor { maximum(clamp(x - y, min=-1, max=2), x / 3) * 0.1 }",
    "assay::t_means(Tensor x, Tensor w) -> Tensor { sum(linear(x, w), -1, true) / (mean(x, -1, true) + 2) }",
    "assay::t_scores(Tensor x, Tensor y) -> (Tensor, Tensor)\n"
    "{ s = log_softmax(x - y, -1); return s, amax(s, -1) }",
    "assay::t_perceptron(Tensor x, Tensor a, Tensor b, Tensor c, Tensor d) -> Tensor\n"
    "{ linear(tanh(linear(silu(linear(gelu(linear(x, a)), b)), c)), d) }",
    "assay::t_shared(Tensor x, Tensor y, Tensor w) -> Tensor\n"
    "{ s = mm(x, w); e = exp(s - amax(s, -1, true)); p = e / sum(e, -1, true)\n"
    "  (p - mean(p, -1, true)) * sqrt(maximum(s * s, y) + 1) - s / (sigmoid(y) + 0.5) + maximum(s, y) }",
    "assay::t_formats(Tensor x, Tensor y) -> (Tensor, Tensor)\n"
    "{ h = exp(x) * y + x; return to(h * 3 + y, bf16), h * h }",
    "assay::t_cast(Tensor x, Tensor g) -> Tensor { to(to(x * 3.3, bf16), f32) * g }",
};

// Of which no attack comes near the ends: too many errors have to be as bad as they can be.
inline constexpr std::string_view kDeepGraphs[] = {
    "assay::t_block(Tensor x, Tensor q, Tensor k, Tensor v, Tensor up, Tensor down) -> Tensor\n"
    "  shapes x=[N,4] q=[4,4] k=[4,4] v=[4,4] up=[U,4] down=[4,U] -> [N,4]\n"
    "{ n, _, _ = native_layer_norm(x, [4], none, none, 1e-5)\n"
    "  h = x + mm(softmax(mm(linear(n, q), transpose(linear(n, k), 0, 1)) * 0.5, -1), linear(n, v))\n"
    "  m, _, _ = native_layer_norm(h, [4], none, none, 1e-5)\n"
    "  h + linear(gelu(linear(m, up)), down) }",
};

}  // namespace assay::testing
