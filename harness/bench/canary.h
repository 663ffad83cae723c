// What this machine can do at most, measured by the plainest loops there are. They run in the same rounds and on the same
// buffers as the kernels, so that a machine that is slow today is slow for both.
//
// Written with Highway: each uses the widest vectors of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay {

// Reads every byte of each input and writes every byte of each output, all of them at the same pace, as an element-wise
// kernel does. With `streaming`, written past the caches, which pays for what they cannot hold.
void stream(std::span<const std::span<const std::byte>> inputs, std::span<const std::span<std::byte>> outputs,
            bool streaming);

// Fused multiply-adds in registers, as many at a time as keeps every unit busy. Returns how many operations that were, a
// fused multiply-add being two.
double multiply_add_f32(std::int64_t repeats);
double multiply_add_f64(std::int64_t repeats);

// The vectors that they use: "AVX2", "AVX3".
const char* canary_target();

}  // namespace assay
