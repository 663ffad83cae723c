#include "shared_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "checker.h"

namespace assay::cuda::emulation {
namespace {

constexpr std::size_t kBetween = 128;  // bytes around a variable that nobody may write; alignment, too
constexpr std::byte kUntouched{0xa5};
constexpr std::size_t kVariables = 32;

void guard(std::byte* from, std::size_t bytes) { std::memset(from, static_cast<int>(kUntouched), bytes); }
bool is_touched(const std::byte* from) {
  return std::any_of(from, from + kBetween, [](std::byte b) { return b != kUntouched; });
}

}  // namespace

void SharedMemory::clear() {
  variables_.clear();
  used_ = 0;
}

void* SharedMemory::allocate(const void* key, std::size_t bytes, const char* name, Random* random) {
  if (used_ + bytes > kMaxShared || variables_.size() == kVariables) return nullptr;
  if (memory_ == nullptr)
    memory_ = std::make_unique_for_overwrite<std::byte[]>(kMaxShared + (kVariables + 2) * kBetween);
  std::byte* base = memory_.get();
  base += (kBetween - reinterpret_cast<std::uintptr_t>(base) % kBetween) % kBetween;
  // Those in front of the first one; of others the bytes after the one before.
  if (variables_.empty()) guard(base, kBetween);
  std::byte* const address = base + kBetween + used_ + variables_.size() * kBetween;
  if (random != nullptr)
    random->fill(address, bytes);
  else
    std::memset(address, 0xff, bytes);  // NaN, in every format
  const std::size_t whole = (bytes + kBetween - 1) / kBetween * kBetween;
  guard(address + bytes, kBetween + whole - bytes);
  variables_.push_back({address, bytes, name, key});
  used_ += whole;
  checker_shared(address, bytes, name);
  return address;
}

void* SharedMemory::variable(const void* key, std::size_t bytes, const char* name, Random* random) {
  const auto known =
      std::find_if(variables_.begin(), variables_.end(), [key](const Variable& v) { return v.key == key; });
  return known != variables_.end() ? known->address : allocate(key, bytes, name, random);
}

std::string SharedMemory::overrun() const {
  if (!variables_.empty() && is_touched(variables_[0].address - kBetween))
    return std::string("written in front of shared memory ") + variables_[0].name;
  for (const Variable& v : variables_)
    if (is_touched(v.address + v.bytes))
      return std::string("written after shared memory ") + v.name + ", which has " + std::to_string(v.bytes) +
             " bytes";
  return "";
}

}  // namespace assay::cuda::emulation
