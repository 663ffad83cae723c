#include "guarded_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>
#include <vector>

// Each register is compared with where it was saved. The unwinder finds them there, too.
__asm__(
    ".text\n"
    ".globl assay_guarded_call\n"
    ".hidden assay_guarded_call\n"
    ".type assay_guarded_call, @function\n"
    "assay_guarded_call:\n"
    "  .cfi_startproc\n"
    "  pushq %rbx\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %rbx, 0\n"
    "  pushq %rbp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %rbp, 0\n"
    "  pushq %r12\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %r12, 0\n"
    "  pushq %r13\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %r13, 0\n"
    "  pushq %r14\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %r14, 0\n"
    "  pushq %r15\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %r15, 0\n"
    "  pushq %rdx\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  movq %rdi, %rax\n"
    "  movq %rsi, %rdi\n"
    "  call *%rax\n"
    "  popq %rdx\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  xorl %ecx, %ecx\n"
    "  cmpq 40(%rsp), %rbx\n"
    "  je 1f\n"
    "  orl $1, %ecx\n"
    "1:\n"
    "  cmpq 32(%rsp), %rbp\n"
    "  je 1f\n"
    "  orl $2, %ecx\n"
    "1:\n"
    "  cmpq 24(%rsp), %r12\n"
    "  je 1f\n"
    "  orl $4, %ecx\n"
    "1:\n"
    "  cmpq 16(%rsp), %r13\n"
    "  je 1f\n"
    "  orl $8, %ecx\n"
    "1:\n"
    "  cmpq 8(%rsp), %r14\n"
    "  je 1f\n"
    "  orl $16, %ecx\n"
    "1:\n"
    "  cmpq (%rsp), %r15\n"
    "  je 1f\n"
    "  orl $32, %ecx\n"
    "1:\n"
    "  orl %ecx, (%rdx)\n"
    "  popq %r15\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %r15\n"
    "  popq %r14\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %r14\n"
    "  popq %r13\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %r13\n"
    "  popq %r12\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %r12\n"
    "  popq %rbp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %rbp\n"
    "  popq %rbx\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %rbx\n"
    "  ret\n"
    "  .cfi_endproc\n"
    "  .size assay_guarded_call, . - assay_guarded_call\n");

namespace assay {

std::string registers_text(std::uint32_t changed) {
  constexpr std::array<std::string_view, 6> kNames{"rbx", "rbp", "r12", "r13", "r14", "r15"};
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if ((changed >> i & 1) != 0) names.push_back(kNames[i]);
  if (names.empty()) return {};
  return fmt::format("registers changed that a function must leave as they were ({})",
                     fmt::join(names, ", "));
}

}  // namespace assay
