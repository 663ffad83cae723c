// libFuzzer's entry points for the reader of case files, and for what commands do first with a call of one. Without libFuzzer,
// runner.cpp calls them.
#include <cstdlib>
#include <iostream>
#include <string>

#include "../../recorded/fixture.h"
#include "../../recorded/recorded_call.h"
#include "../../verify/recorded_picture.h"
#include "../case_file.h"
#include "mutate.h"
#include "reports/file.h"
#include "seeds.h"

namespace {

using assay::RecordedCall;

constexpr const char* kName = "fuzz input";

[[noreturn]] void broken(const std::string& what) {
  std::cerr << "fuzz: " << what << std::endl;
  std::abort();
}

// Where each element has its own place in memory, it holds what was recorded.
void check_data(const RecordedCall& recorded, const assay::Replayable& r) {
  for (std::size_t i = 0; i < r.call.arguments.size(); ++i) {
    const auto* spec = std::get_if<assay::TensorSpec>(&r.parsed.arguments[i]);
    const auto* tensor = std::get_if<assay::TensorData>(&r.call.arguments[i]);
    if (spec == nullptr || tensor == nullptr || spec->layout != assay::Layout{}) continue;
    const auto from = recorded.inputs.find(std::string(r.call.op->schema.argument_storage[i].name));
    if (from != recorded.inputs.end() && from->second.data != tensor->packed())
      broken("other data is replayed than was recorded");
  }
}

// References and kernels take what the check says of the recorded data.
void check_replayable(const RecordedCall& recorded, const assay::Replayable& r) {
  if (r.call.op->schema.name != recorded.op) broken("a call of another operator is replayed");
  check_data(recorded, r);
  const assay::Checked checked = assay::check_arguments(*r.call.op, assay::Arguments(r.call).values());
  if (checked.ok() != r.call.error.empty())
    broken("of the recorded data the check says \"" + checked.error + "\", and the call \"" + r.call.error +
           "\"");
  if (r.call.outputs.size() != checked.outputs.size() ||
      r.call.output_layouts.size() != checked.outputs.size())
    broken("other results than the check gives");
  try {
    if (assay::recorded_results(recorded, r.call).size() != r.call.outputs.size())
      broken("not an entry for each result");
  } catch (const assay::CaseError&) {
  }
}

// What replay, diagnose, --fixtures and reports do with it before anything is computed.
void take_up(const RecordedCall& recorded) {
  assay::recorded_picture(recorded);
  try {
    assay::recorded_verdict(recorded);
  } catch (const std::invalid_argument&) {
  }
  try {
    check_replayable(recorded, assay::replayable(recorded));
  } catch (const std::invalid_argument&) {  // CaseError, or of the operator's own texts
  }
  try {
    const assay::Fixture fixture = assay::fixture_of(recorded, kName);
    if (!fixture.call.error.empty() || fixture.expected.size() != fixture.call.outputs.size())
      broken("a fixture that cannot be judged");
  } catch (const assay::FileError& error) {
    if (!std::string_view(error.what()).starts_with(kName)) broken("an error that does not name the file");
  }
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
    file = assay::decode_case_file(std::as_bytes(std::span(data, size)), kName);
  } catch (const assay::FileError& error) {
    if (std::string(error.what()).find(kName) == std::string::npos)
      broken("an error that does not name the file");
    return 0;
  }
  ++accepted_inputs;
  // What was read can be written, and reads the same again.
  const std::string bytes = assay::encode_case_file(file, "again");
  const assay::CaseFile again = assay::decode_case_file(std::as_bytes(std::span(bytes)), "again");
  if (assay::encode_case_file(again, "once more") != bytes)
    broken("written and read again, the file is another one");
  for (const RecordedCall& call : file.calls) take_up(call);
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
