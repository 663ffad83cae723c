// A reader of text from outside, under fuzzing. Each target is a file of this folder; targets.cpp lists them.
//
// What a target calls may throw only what its header documents. Everything else, an exception of another type
// included, ends the program and with it the fuzzer, which keeps the input.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::fuzz {

struct Target {
  std::string_view name;
  std::vector<std::string> (*seeds)();
  bool (*run)(std::string_view input);  // whether the reader took it
};

extern const Target kBenchFile, kCaseList, kCaseText, kCheckedCase, kContract, kEngineNodes, kGraphText, kGzip,
    kHistoryFile, kJournal, kLayout, kMerge, kNameMap, kNpy, kNpz, kOnnx, kOrigin, kPluginTable, kPtx,
    kResultFile, kRunFile, kSafetensors, kSchema, kSelftestFile, kServeRequest, kShapeRule, kShapes;

std::span<const Target* const> targets();
const Target* find_target(std::string_view name);  // nullptr if there is none

// Reads what is called by this name. Whether it was taken; what is not must be a FileError that names it.
inline constexpr const char* kInputName = "fuzz input";
bool accepted(const std::function<void()>& read);

// The reader did what it must not: says so and aborts.
[[noreturn]] void broken(std::string_view what);

}  // namespace assay::fuzz
