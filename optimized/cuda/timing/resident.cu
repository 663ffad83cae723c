#include "resident.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {
namespace {

// A piece of the program's memory.
struct Piece {
  const char* begin;
  std::size_t bytes;
  std::vector<Memory> copies;

  bool has(const void* data, std::size_t size) const {
    const auto* const at = static_cast<const char*>(data);
    return at >= begin && at + size <= begin + bytes;
  }
  // Copies keep their place modulo 256 bytes, so that kernels meet the alignment that the program's tensors have.
  char* copy(std::size_t k) const {
    return static_cast<char*>(copies[k].data()) + reinterpret_cast<std::uintptr_t>(begin) % kAlignment;
  }
};

std::vector<Piece> pieces;
std::uint64_t used = 0;

}  // namespace

void hold(std::span<const assay_memory> memory, std::uint32_t copies) {
  release();
  try {
    for (const assay_memory& m : memory) {
      if (m.bytes == 0) continue;
      Piece& piece = pieces.emplace_back(Piece{static_cast<const char*>(m.data), m.bytes, {}});
      for (std::uint32_t k = 0; k < copies; ++k) {
        piece.copies.emplace_back(m.bytes + reinterpret_cast<std::uintptr_t>(m.data) % kAlignment,
                                  "a tensor that is held");
        check(cudaMemcpyAsync(piece.copy(k), piece.begin, m.bytes, cudaMemcpyHostToDevice, nullptr),
              "copying a tensor to the device");
      }
    }
    check(cudaStreamSynchronize(nullptr), "copying tensors to the device");
  } catch (...) {
    release();
    throw;
  }
}

std::uint32_t copies_held() {
  return pieces.empty() ? 0 : static_cast<std::uint32_t>(pieces[0].copies.size());
}
void use_next_copy() { ++used; }

void* held(const void* data, std::size_t bytes) {
  for (const Piece& p : pieces)
    if (p.has(data, bytes))
      return p.copy(used % p.copies.size()) + (static_cast<const char*>(data) - p.begin);
  return nullptr;
}

void fetch(std::span<const assay_memory> memory) {
  check(cudaStreamSynchronize(nullptr), "running the kernels");
  for (const assay_memory& m : memory) {
    if (m.bytes == 0) continue;
    const void* const from = held(m.data, m.bytes);
    if (from == nullptr) throw std::runtime_error("fetched memory is not held");
    check(cudaMemcpy(m.data, from, m.bytes, cudaMemcpyDeviceToHost), "copying a result from the device");
  }
}

void release() {
  pieces.clear();
  used = 0;
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
