// What the tests of the interpreter of PTX share: a kernel around instructions, and its launch.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/emulation/regions.h"
#include "cuda/ptx/module.h"
#include "cuda/ptx/run.h"

namespace assay::cuda::ptx {

inline constexpr const char* kHead = ".version 9.0\n.target sm_90\n.address_size 64\n";

// A kernel `k` of two pointers, the first one, of what is read, in %in and the second one in %out.
inline std::string kernel(const std::string& body, const std::string& outside = "") {
  return kHead + outside + ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n" +
         ".reg .pred %p, %q;\n.reg .b64 %in, %out, %a, %b, %d, %e, %n, %s, %t, %v, %w, %x, %y, %z;\n"
         ".reg .b64 %at, %by, %to, %sum, %other, %wide, %zero;\nld.param.u64 %in, [p0];\nld.param.u64 %out, [p1];\n" +
         body + "\nret;\n}\n";
}

struct Setting {
  dim3 grid = 1, block = 32;
  std::size_t shared = 0;
  emulation::Order order = emulation::Order::forward;
};

// Runs `text` with inputs and results of 64 bits each; the message of a fault, or "".
inline std::string run_kernel(const std::string& text, const std::vector<std::uint64_t>& in,
                              std::vector<std::uint64_t>& out, const Setting& setting = {}) {
  Module module(text);
  const Program* program = module.kernel("k");
  if (program == nullptr) return "no kernel";
  const void* const pointers[] = {in.data(), out.data()};
  const emulation::Argument arguments[] = {{&pointers[0], 8}, {&pointers[1], 8}};
  emulation::regions().add(in.data(), in.size() * 8, false);
  emulation::regions().add(out.data(), out.size() * 8, true);
  std::string fault;
  try {
    run(*program,
        {.grid = setting.grid,
         .block = setting.block,
         .shared_bytes = setting.shared,
         .argument_list = arguments,
         .argument_count = 2},
        {.order = setting.order, .seed = 7});
  } catch (const emulation::Fault& f) {
    fault = f.what();
  }
  emulation::regions().forget(in.data());
  emulation::regions().forget(out.data());
  return fault;
}

inline std::uint64_t of(float x) { return std::bit_cast<std::uint32_t>(x); }
inline std::uint64_t of(double x) { return std::bit_cast<std::uint64_t>(x); }
inline std::uint64_t of(int x) { return static_cast<std::uint32_t>(x); }

}  // namespace assay::cuda::ptx
