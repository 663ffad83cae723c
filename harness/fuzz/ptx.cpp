// The PTX that nvcc made: a Module throws std::runtime_error that names the line and what stands there, or has kernels that
// can be run. Those without loops are: whatever they do ends, or is a fault that the interpreter reports.
#include "optimized/cuda/ptx/module.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>

#include "optimized/cuda/emulation/regions.h"
#include "optimized/cuda/ptx/run.h"
#include "target.h"

namespace assay::fuzz {
namespace {

using cuda::ptx::Flow;
using cuda::ptx::Instruction;
using cuda::ptx::Program;

constexpr std::string_view kHead = ".version 9.0\n.target sm_80\n.address_size 64\n";

// A kernel whose registers are %r 0 to 15 for each type, and of `outside` what stands before it.
std::string kernel(std::string_view body, std::string_view outside = "") {
  return std::string(kHead) + std::string(outside) +
         ".visible .entry k(.param .u64 p0, .param .align 8 .b8 p1[16])\n.maxntid 32, 1, 1\n{\n"
         ".reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<16>;\n.reg .b64 %d<8>;\n"
         "ld.param.u64 %d0, [p0];\ncvta.to.global.u64 %d1, %d0;\n" +
         std::string(body) + "ret;\n}\n";
}

std::vector<std::string> seeds() {
  return {
      kernel(
          "add.s32 %r0, %r1, -2;\nsub.s64 %d2, %d2, 1;\nmul.lo.s16 %h0, %h1, 3;\nmul.hi.u64 %d2, %d3, 0xFF;\n"
          "mul.wide.u16 %r2, %h0, %h1;\nmad.lo.s32 %r0, %r1, %r2, %r3;\nmad.hi.u32 %r0, %r1, %r2, 1U;\n"
          "mad.wide.s32 %d3, %r1, 4, %d2;\ndiv.s32 %r0, %r1, %r2;\nrem.u16 %h0, %h1, %h2;\nabs.s32 %r3, %r0;\n"
          "neg.s64 %d2, %d3;\nmin.s32 %r0, %r1, %r2;\nmax.u64 %d2, %d3, 7;\ndp4a.s32.u32 %r0, %r1, %r2, %r3;\n"),
      kernel(
          "mov.f32 %r0, 0f3F800000;\nmov.f64 %d2, 0d3FF0000000000000;\nadd.rn.f32 %r1, %r0, %r0;\n"
          "add.rz.f32 %r1, %r1, %r0;\nsub.rm.f64 %d3, %d2, %d2;\nmul.rp.f32 %r2, %r1, %r0;\n"
          "fma.rn.f32 %r3, %r0, %r1, %r2;\ndiv.rn.f64 %d4, %d2, %d3;\nsqrt.rn.f32 %r4, %r3;\nrcp.rn.f64 %d5, %d2;\n"
          "abs.f32 %r4, %r4;\nneg.f64 %d5, %d5;\nmin.f32 %r1, %r2, %r3;\nmax.NaN.f32 %r1, %r2, %r3;\n"
          "copysign.f32 %r0, %r1, %r2;\n"),
      kernel("ex2.approx.ftz.f32 %r0, %r1;\nlg2.approx.f32 %r0, %r1;\nrcp.approx.ftz.f64 %d2, %d3;\n"
             "rsqrt.approx.f32 %r1, %r0;\nsqrt.approx.f32 %r1, %r0;\ntanh.approx.f32 %r1, %r0;\n"
             "sin.approx.f32 %r1, %r0;\ncos.approx.f32 %r1, %r0;\ndiv.full.f32 %r1, %r0, %r2;\n"),
      kernel(
          "and.b64 %d2, %d3, 255;\nor.b16 %h0, %h1, %h2;\nxor.b32 %r0, %r1, %r2;\nnot.b32 %r0, %r1;\n"
          "cnot.b32 %r0, %r1;\nand.pred %p0, %p1, %p2;\nnot.pred %p0, %p1;\nshl.b32 %r0, %r1, 31;\n"
          "shr.s64 %d2, %d3, %r0;\nshf.l.wrap.b32 %r0, %r1, %r2, 3;\nshf.r.clamp.b32 %r0, %r1, %r2, %r3;\n"
          "bfi.b64 %d2, %d3, %d4, 32, 32;\nbfe.s32 %r0, %r1, 4, 8;\nprmt.b32 %r0, %r1, %r2, 0x7540U;\n"
          "lop3.b32 %r0, %r1, %r2, %r3, 0x96;\npopc.b64 %r0, %d2;\nclz.b32 %r0, %r1;\nbrev.b32 %r0, %r1;\n"),
      kernel(
          "cvt.rzi.s32.f32 %r0, %r1;\ncvt.rn.f32.s64 %r0, %d2;\ncvt.sat.f32.f32 %r0, %r1;\ncvt.rn.bf16.f32 %h0, %r1;\n"
          "cvt.f32.f16 %r0, %h1;\ncvt.rp.f32.f64 %r0, %d2;\ncvt.s64.s8 %d2, %r1;\ncvt.sat.u8.s32 %r0, %r1;\n"
          "mov.b64 {%r0, %r1}, %d2;\nmov.b64 %d2, {%r0, %r1};\nmov.b32 {%h0, _}, %r0;\nmov.pred %p0, -1;\n"
          "cvta.shared.u64 %d2, %d3;\ncvta.to.local.u64 %d2, %d3;\n"),
      kernel(
          "setp.lt.s32 %p0, %r0, %r1;\nsetp.neu.f32 %p1, %r0, 0f00000000;\nsetp.hi.and.u32 %p2, %r0, 1, %p0;\n"
          "setp.num.f64 %p0, %d2, %d3;\nselp.b32 %r0, %r1, 5, %p0;\n@%p0 bra $done;\n@!%p1 add.s32 %r0, %r0, 1;\n"
          "bra.uni $done;\n$done:\n"),
      kernel("$again:\nadd.s32 %r0, %r0, 1;\nsetp.lt.s32 %p0, %r0, 8;\n@%p0 bra $again;\n"),
      kernel(
          "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ntid.y;\nmov.u32 %r2, %ctaid.z;\nmov.u32 %r3, %nctaid.x;\n"
          "mov.u32 %r4, %laneid;\nshfl.sync.bfly.b32 %r5|%p0, %r0, 16, 31, -1;\nshfl.sync.idx.b32 %r6, %r0, 0, 31, -1;\n"
          "vote.sync.ballot.b32 %r7, %p0, -1;\nvote.sync.any.pred %p1, %p0, -1;\nactivemask.b32 %r8;\n"
          "bar.warp.sync -1;\nbar.sync 0;\nbarrier.cta.sync.aligned 0;\nmembar.gl;\nfence.acq_rel.gpu;\n"),
      kernel("ld.global.nc.v4.f32 {%r0, %r1, %r2, %r3}, [%d1];\nst.global.v2.u16 [%d1+4], {%h0, %h1};\n"
             "mov.u64 %d2, tile;\nst.shared.u32 [tile+-0], %r0;\nld.volatile.shared.u32 %r1, [%d2+4];\n"
             "st.local.u64 [%d3], %d2;\nld.u32 %r0, [%d1];\nld.param.v2.u32 {%r2, %r3}, [p1+8];\n"
             "atom.global.add.u32 %r0, [%d1], 1;\nred.relaxed.gpu.global.add.f32 [%d1+4], %r2;\n"
             "atom.shared.exch.b64 %d2, [%d2], 5;\n",
             ".shared .align 16 .b8 tile[256];\n"),
      kernel(
          ".local .align 8 .b8 depot[32];\nmov.u64 %d2, depot;\nmov.u32 %r0, dynamic;\n"
          "cp.async.cg.shared.global [%r0], [%d1], 16, %r1;\ncp.async.cg.shared.global [%r0+16], [%d1], 16;\n"
          "cp.async.commit_group;\ncp.async.wait_group 0;\n.pragma \"nounroll\";\n",
          ".extern .shared .align 16 .b8 dynamic[];\n"),
      kernel("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r4];\n"
             "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r0, %r1, %r2, %r3}, [%r4+16];\n"),
      kernel(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, "
          "{%r0, %r1, %r2, %r3};\nmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r0, %r1, %r2, %r3}, "
          "{%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r0, %r1, %r2, %r3};\n"),
      kernel(
          "{\n.param .b32 a;\nst.param.b32 [a+0], %r0;\n.param .align 8 .b8 b[8];\ncall.uni (b), twice, (a);\n"
          "ld.param.v2.b32 {%r1, %r2}, [b+0];\n}\n",
          ".func (.param .align 8 .b8 r[8]) twice(.param .b32 a)\n{\n.reg .b32 %r<2>;\nld.param.u32 %r0, [a];\n"
          "add.s32 %r1, %r0, %r0;\nst.param.v2.b32 [r+0], {%r0, %r1};\nret;\n}\n"),
      std::string(kHead).append(
          "// a comment\n.file 1 \"/optimized/cuda/a.cu\"\n.weak .entry _Z1kIfEvPKT_(.param .u64 p)\n{\n"
          "\t.loc\t1 20 5, function_name $L__info_string0, inlined_at 1 40 3\n\tret;\n}\n"
          ".section .debug_str { .b8 95 .b8 0 }\n.visible .entry empty()\n{\nret;\n}\n"),
  };
}

// "line 3: what it is about: "token"", and the token stands there.
void check_error(std::string_view input, std::string_view message) {
  constexpr std::string_view begin = "line ";
  std::size_t number = 0;
  if (!message.starts_with(begin)) broken("an error that names no line");
  const auto end =
      std::from_chars(message.data() + begin.size(), message.data() + message.size(), number).ptr;
  const std::size_t quote = message.find(": \"", static_cast<std::size_t>(end - message.data()));
  if (number == 0 || *end != ':' || quote == std::string_view::npos)
    broken("an error that names no line or quotes nothing");
  if (input.find("//") != std::string_view::npos) return;  // comments are blanks by then
  for (; number > 1; --number) {
    if (input.find('\n') == std::string_view::npos) broken("an error in a line that is not there");
    input.remove_prefix(input.find('\n') + 1);
  }
  std::string_view token = message.substr(quote + 3);
  token = token.substr(0, token.rfind('"'));
  if (input.substr(0, input.find('\n')).find(token) == std::string_view::npos)
    broken("an error quotes another line");
}

void check(const Program& program) {
  const auto row = [&](std::int32_t r) { return r >= 0 && r < program.rows; };
  for (const Instruction& i : program.code) {
    if (i.flow == Flow::next && i.run == nullptr) broken("an instruction that does nothing");
    if (i.flow == Flow::branch && (i.target < 0 || static_cast<std::size_t>(i.target) >= program.code.size()))
      broken("a branch to nowhere");
    if ((i.guard != -1 && !row(i.guard)) || (i.mask != -1 && !row(i.mask)))
      broken("a condition or mask that is nowhere");
    if (program.rows > 0 && !std::all_of(i.row.begin(), i.row.end(), row))
      broken("an operand that is nowhere");
    if (i.text < 0 || static_cast<std::size_t>(i.text) >= program.texts.size())
      broken("an instruction without a text");
    if (i.place < -1 || i.place >= static_cast<std::int32_t>(program.places.size()))
      broken("a place that is nowhere");
  }
}

bool is_short(const Program& program) {
  for (std::size_t k = 0; k < program.code.size(); ++k)
    if (program.code[k].flow == Flow::branch && static_cast<std::size_t>(program.code[k].target) <= k)
      return false;
  return program.code.size() < 2000 && program.rows < 2000 && program.shared_bytes < 10000 &&
         program.local_bytes < 1000;
}

// With pointers to a tensor wherever parameters have room for them.
void run_once(const Program& program) {
  alignas(64) static std::uint64_t tensor[64];
  std::vector<std::uint64_t> pointers(program.parameter_bytes / 8 + 2,
                                      reinterpret_cast<std::uintptr_t>(tensor));
  std::vector<cuda::emulation::Argument> arguments;
  for (const auto& p : program.parameters) arguments.push_back({pointers.data(), p.bytes});
  cuda::emulation::regions().add(tensor, sizeof tensor, true);
  try {
    cuda::ptx::run(program,
                   {.grid = 2,
                    .block = 40,
                    .shared_bytes = 64,
                    .argument_list = arguments.data(),
                    .argument_count = arguments.size()},
                   {});
  } catch (const cuda::emulation::Fault&) {
  }
  cuda::emulation::regions().forget(tensor);
}

bool run(std::string_view input) {
  try {
    cuda::ptx::Module module{std::string(input)};
    for (const std::string& name : module.kernels()) {
      const Program* program = module.kernel(name);
      if (program == nullptr) broken("a kernel that is named is not there");
      check(*program);
      if (is_short(*program)) run_once(*program);
    }
  } catch (const cuda::emulation::Fault&) {
    broken("a fault while nothing runs");
  } catch (const std::runtime_error& e) {
    check_error(input, e.what());
    return false;
  }
  return true;
}

}  // namespace

const Target kPtx{"ptx", seeds, run};

}  // namespace assay::fuzz
