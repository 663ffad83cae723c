// libFuzzer's entry points for the reader of case files. Without libFuzzer, runner.cpp calls them.
#include <cstdlib>
#include <iostream>
#include <string>

#include "../case_file.h"
#include "mutate.h"
#include "reports/file.h"
#include "seeds.h"

namespace {

[[noreturn]] void broken(const std::string& what) {
  std::cerr << "case_file_fuzz: " << what << std::endl;
  std::abort();
}

}  // namespace

// HDF5 1.10 loses a few bytes for each damaged object that it meets.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }
extern "C" const char* __lsan_default_options();
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::vector<std::string> seeds = assay::seed_files();  // which enrols the operators
  if (*argc != 3 || std::string_view((*argv)[1]) != "--write-corpus") return 0;
  for (std::size_t i = 0; i < seeds.size(); ++i)
    assay::write_file(std::string((*argv)[2]) + "/seed" + std::to_string(i) + ".h5", seeds[i]);
  std::exit(0);
}

std::size_t accepted_inputs = 0;  // for runner.cpp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::CaseFile file;
  try {
    file = assay::decode_case_file(std::as_bytes(std::span(data, size)), "fuzz input");
  } catch (const assay::FileError& error) {
    if (std::string(error.what()).find("fuzz input") == std::string::npos)
      broken("an error that does not name the file");
    return 0;
  }
  ++accepted_inputs;
  // What was read can be written, and reads the same again.
  const std::string bytes = assay::encode_case_file(file, "again");
  const assay::CaseFile again = assay::decode_case_file(std::as_bytes(std::span(bytes)), "again");
  if (assay::encode_case_file(again, "once more") != bytes)
    broken("written and read again, the file is another one");
  return 0;
}

#ifdef ASSAY_LIBFUZZER
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  std::mt19937_64 random(seed);
  const std::string changed = assay::mutate_objects({reinterpret_cast<const char*>(data), size}, random);
  if (changed.size() > most) return LLVMFuzzerMutate(data, size, most);
  changed.copy(reinterpret_cast<char*>(data), changed.size());
  return changed.size();
}
#endif
