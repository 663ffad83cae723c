// The memory that kernels are timed on.
#pragma once

#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "../model/call.h"
#include "pages.h"

namespace assay {

// One copy of a call's tensors in memory of its own, the same for every kernel. Each tensor begins at a multiple of 64
// bytes, at a random one of those in a page: where the hardware's caches put two tensors is then luck, and luck that
// averages over several sets, in place of one accident that a whole run is measured with. Large sets lie in huge pages, as
// far as the system has them; every page is touched before anything is timed.
class Operands {
 public:
  // The call must outlive the operands. Throws std::bad_alloc.
  Operands(const Call& call, std::mt19937_64& random);

  std::span<const assay_value> values() const { return values_; }
  std::span<assay_tensor* const> outputs() const { return outputs_; }

  // What kernels read and write: input tensors, gaps between strides included, and outputs.
  std::span<const std::span<const std::byte>> inputs() const { return inputs_; }
  std::span<const std::span<std::byte>> results() const { return results_; }

  // The elements of a result in row-major order, without gaps.
  std::vector<std::byte> packed(std::size_t output) const;
  // The numbers of this call, which is the same but for them, in place of its own.
  void load(const Call& call);
  // The first of its input tensors that does not hold the call's numbers any more, counted as inputs() are; -1: none.
  int changed_input(const Call& call) const;
  // Whether somebody has written to what describes them, which contestants share: shapes, strides, addresses, attributes. Puts it right.
  bool put_descriptions_right();
  // Bytes that no kernel leaves behind by accident, in every result.
  void poison();
  // Elements of a result in row-major order, in their places.
  void put(std::size_t output, std::span<const std::byte> packed);
  // The memory of inputs() itself.
  std::span<std::byte* const> input_memory() const { return input_memory_; }

  // How much memory one set of this call takes.
  static std::size_t bytes(const Call& call);

 private:
  Pages memory_;
  std::unique_ptr<Arguments> arguments_;
  std::vector<assay_value> values_;
  std::vector<std::unique_ptr<assay_tensor>> tensors_;
  std::vector<std::vector<const assay_tensor*>> lists_;
  std::vector<std::vector<std::int64_t>> strides_;
  std::vector<assay_tensor*> outputs_;
  std::vector<std::span<const std::byte>> inputs_;
  std::vector<std::byte*> input_memory_;  // of each of these
  std::vector<std::span<std::byte>> results_;
  struct Described {
    std::span<std::byte> at;
    std::vector<std::byte> was;
  };
  void keep(const void* at, std::size_t bytes);
  void keep_descriptions();
  std::vector<Described> described_;
};

}  // namespace assay
