// Runs the fuzz target without libFuzzer: on files, or for some seconds on mutations of the seed files.
//
//   case_file_fuzz_runner [--seconds N] [--seed N] [--keep FILE] [FILE...]
//
// The input at work always lies in --keep, so that one which crashes or hangs can be run again.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "mutate.h"
#include "reports/file.h"
#include "seeds.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern std::size_t accepted_inputs;

namespace {

constexpr unsigned kHangSeconds = 60;

void run(const std::string& bytes) {
  ::alarm(kHangSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  ::alarm(0);
}

std::string mutation(const std::vector<std::string>& seeds, std::mt19937_64& random) {
  std::string bytes = seeds[random() % seeds.size()];
  if (random() % 4 != 0) bytes = assay::mutate_objects(bytes, random);
  if (random() % 4 == 0) bytes = assay::mutate_bytes(std::move(bytes), random);
  return bytes;
}

int fuzz(double seconds, std::uint64_t seed, const std::string& keep) {
  const std::vector<std::string> seeds = assay::seed_files();
  std::mt19937_64 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::size_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    const std::string bytes = mutation(seeds, random);
    // Not write_file(), which waits for the disk.
    if (!keep.empty()) std::ofstream(keep, std::ios::binary) << bytes;
    run(bytes);
  }
  if (!keep.empty()) std::filesystem::remove(keep);
  std::cout << runs << " inputs, " << accepted_inputs << " of them valid, seed " << seed << "\n";
  // Both sides of the reader must have been reached.
  return accepted_inputs > 0 && accepted_inputs < runs ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  LLVMFuzzerInitialize(&argc, &argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::map<std::string, std::string> options{{"--seconds", "5"}, {"--seed", "1"}, {"--keep", ""}};
  std::vector<std::string> files;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (options.contains(words[i]) && i + 1 < words.size()) {
      options[words[i]] = words[i + 1];
      ++i;
    } else {
      files.push_back(words[i]);
    }
  }
  for (const std::string& file : files) run(assay::read_file(file));
  if (!files.empty()) return 0;
  return fuzz(std::stod(options["--seconds"]), std::stoull(options["--seed"]), options["--keep"]);
}
