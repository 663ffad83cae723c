// libFuzzer's entry points for one target, ASSAY_FUZZ_TARGET. Without a corpus it starts from the target's seeds:
//
//   fuzz_case_text --write-corpus FOLDER    writes them there
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "reports/file.h"
#include "target.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc != 3 || std::strcmp((*argv)[1], "--write-corpus") != 0) return 0;
  const std::vector<std::string> seeds = assay::fuzz::ASSAY_FUZZ_TARGET.seeds();
  for (std::size_t i = 0; i < seeds.size(); ++i)
    assay::write_file(std::string((*argv)[2]) + "/seed" + std::to_string(i), seeds[i]);
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::fuzz::ASSAY_FUZZ_TARGET.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
