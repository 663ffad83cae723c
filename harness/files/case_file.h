// Case files: recorded calls with their data as HDF5, format "assay.case/1".
//
//   /                        attributes format = "assay.case/1", creator, cpu, isa, libraries (NAME=VERSION)
//   /calls/N                 attributes op, case, seed, impl, contract; verdict, detail, name, plugin,
//                            program, variables, attempts, failed_attempts; further texts are kept
//     inputs/ARGUMENT        a tensor; entry i of a Tensor[] argument is inputs/ARGUMENT/i
//     expected/OUTPUT/value, lower, upper, special
//     actual/OUTPUT          a tensor
//     stages/STAGE/NAME      tensors at other moments, for diagnosis: diagnose/stages.h says which
//     before/K, after/0      calls in the same process, as /calls/N: of a kernel that damaged it, those of its own that came first, and the
//                            call of another kernel that went wrong after it
//
// A tensor is a dataset in row-major order whose attribute `dtype` is a name of vocabulary/dtype.h. f16 is
// stored as an IEEE half, bf16 as u16, f8 and bool as u8. Every bit comes back, those of NaN too. In text,
// zero bytes at the end do not.
//
// Every byte written is under a checksum of HDF5 (its file format of 1.10, compact or chunked datasets): a
// damaged file is an error, never other numbers. Files in HDF5's older format have no checksums and are
// refused (h5py writes the newer one with libver="latest").
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/file.h"
#include "vocabulary/dtype.h"
#include "vocabulary/shape_rule.h"

namespace assay {

struct RecordedTensor {
  Dtype dtype = Dtype::f32;
  Shape shape;
  std::vector<std::byte> data;  // packed, row-major
  friend bool operator==(const RecordedTensor&, const RecordedTensor&) = default;
};

// Bits of RecordedOutput::special: what an interval admits beside finite numbers.
inline constexpr std::uint8_t kAdmitsNan = 1;
inline constexpr std::uint8_t kAdmitsPositiveInfinity = 2;
inline constexpr std::uint8_t kAdmitsNegativeInfinity = 4;
inline constexpr std::uint8_t kZeroSignDecided = 8;

// What was expected of a result, and what came. One number for each element, row-major.
struct RecordedOutput {
  Shape shape;
  std::vector<double> value;          // the reference; empty if only `actual` was recorded
  std::vector<double> lower, upper;   // the interval; both or neither
  std::vector<std::uint8_t> special;  // or empty
  std::optional<RecordedTensor> actual;
};

struct RecordedCall {
  std::string op;         // "add.Tensor"
  std::string case_text;  // what is not a tensor stands here alone
  std::uint64_t seed = 0;
  std::string impl;
  std::string contract;
  std::string verdict;  // a token of reports/verdict.h, or empty
  std::string detail;
  std::string name;                    // where a trace recorded it ("layers.0.mlp.act"), or empty
  std::string plugin;                  // the library that the kernel came from, or empty
  std::vector<std::string> program;    // command line of the worker process
  std::vector<std::string> variables;  // NAME=VALUE, the environment it needs
  std::uint64_t attempts = 0;          // runs that were made, and how many of them showed the fault
  std::uint64_t failed_attempts = 0;
  std::map<std::string, std::string> notes;       // further text attributes; "graph" is the operator's text (graph/graph.h)
  std::map<std::string, RecordedTensor> inputs;   // by argument; "tensors/0" for entries of lists
  std::map<std::string, RecordedOutput> outputs;  // by the schema's result names; else "out" or "out0", ..
  std::map<std::string, RecordedTensor> stages;
  std::vector<RecordedCall> before, after;  // which have none themselves
};

struct CaseFile {
  std::string creator;  // "assay 0.1.0"
  std::string cpu;
  std::vector<std::string> isa;
  std::map<std::string, std::string> libraries;  // name -> version
  std::vector<RecordedCall> calls;
};

// Throws FileError that names the file and the reason, and then no file was changed. See reports/file.h.
void write_case_file(const std::string& path, const CaseFile& file);

// Throws FileError that names the file and what is wrong: not HDF5, truncated, damaged, another format or
// version, an attribute or dataset missing, of another type or size, or at odds with the case text, or hard
// links by which more would be read than the file has. Calls of operators that this program does not know are
// read without comparing them with their case text.
CaseFile read_case_file(const std::string& path);

// The same in memory; `name` stands for the file in messages.
std::string encode_case_file(const CaseFile& file, const std::string& name);
CaseFile decode_case_file(std::span<const std::byte> bytes, const std::string& name);

}  // namespace assay
