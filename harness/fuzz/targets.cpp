#include <cstdlib>
#include <iostream>

#include "reports/file.h"
#include "target.h"

namespace assay::fuzz {

std::span<const Target* const> targets() {
  static constexpr const Target* all[] = {
      &kBenchFile,   &kCaseList,     &kCaseText,     &kCheckedCase, &kContract,   &kEngineNodes, &kGraphText, &kGzip,
      &kHistoryFile, &kJournal,      &kLayout,       &kMerge,       &kNameMap,    &kNpy,       &kNpz,
      &kOnnx,        &kOrigin,       &kPluginTable,  &kPtx,         &kResultFile, &kRunFile,   &kSafetensors,
      &kSchema,      &kSelftestFile, &kServeRequest, &kShapeRule,   &kShapes};
  return all;
}

const Target* find_target(std::string_view name) {
  for (const Target* t : targets())
    if (t->name == name) return t;
  return nullptr;
}

bool accepted(const std::function<void()>& read) {
  try {
    read();
  } catch (const FileError& e) {
    if (std::string_view(e.what()).find(kInputName) == std::string_view::npos)
      broken("an error that does not name the file");
    return false;
  }
  return true;
}

void broken(std::string_view what) {
  std::cerr << "fuzz: " << what << std::endl;
  std::abort();
}

}  // namespace assay::fuzz
