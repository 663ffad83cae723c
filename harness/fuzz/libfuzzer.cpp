// libFuzzer's entry points for the targets of this folder:
//
//   text_fuzz TARGET --write-corpus FOLDER             writes the target's corpus there, a file for each input
//   text_fuzz TARGET --lines FILE...                   prints files as lines of the corpus
//   text_fuzz TARGET [libFuzzer's options] FOLDER...   fuzzes on from there
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "corpus.h"
#include "reports/file.h"
#include "target.h"

namespace {

// Processes that libFuzzer starts anew, to merge or in parallel, know the target by it.
constexpr const char* kVariable = "ASSAY_FUZZ_TARGET";
const assay::fuzz::Target* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const char* inherited = std::getenv(kVariable);
  if (*argc > 1 && (target = assay::fuzz::find_target((*argv)[1])) != nullptr) {
    ::setenv(kVariable, (*argv)[1], 1);
    std::memmove(*argv + 1, *argv + 2, static_cast<std::size_t>(*argc - 1) * sizeof(char*));
    --*argc;
  } else if (inherited == nullptr || (target = assay::fuzz::find_target(inherited)) == nullptr) {
    std::cerr
        << "usage: text_fuzz TARGET [--write-corpus FOLDER | --lines FILE... | libFuzzer's options, FOLDER...]\ntargets:";
    for (const assay::fuzz::Target* t : assay::fuzz::targets()) std::cerr << ' ' << t->name;
    std::cerr << std::endl;
    std::exit(2);
  }
  const std::string_view option = *argc > 2 ? (*argv)[1] : "";
  if (option == "--write-corpus") {
    const std::vector<std::string> inputs = assay::fuzz::corpus(*target);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      assay::write_file(std::string((*argv)[2]) + "/input" + std::to_string(i), inputs[i]);
    std::exit(0);
  }
  if (option == "--lines") {
    for (int i = 2; i < *argc; ++i) std::cout << assay::fuzz::line(assay::read_file((*argv)[i])) << '\n';
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
