// A case file with a bit of everything, and how tests look at it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "../files/case_file.h"

namespace assay {

template <class T>
RecordedTensor tensor(Dtype dtype, Shape shape, const std::vector<T>& values) {
  RecordedTensor t{dtype, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(t.data.data(), values.data(), t.data.size());
  return t;
}

inline RecordedCall sample_call() {
  RecordedCall call;
  call.op = "prelu";
  call.case_text = "prelu:f32:self=2x3,weight=3:data=wide:seed=42";
  call.seed = 18446744073709551615u;
  call.impl = "cpu.avx2";
  call.contract = "f32: ftz=yes -- src/prelu.c:40\nf16: compute=f16 -- the same";
  call.verdict = "diverged";
  call.detail = "out[0,1] is 2, allowed is 1 to 1 (\u00B1)";
  call.name = "layers.0.act";
  call.plugin = "/opt/libmine.so";
  call.program = {"/usr/bin/assay", "worker", "--plugin", "/opt/libmine.so", ""};
  call.variables = {"OMP_NUM_THREADS=1"};
  call.attempts = 100;
  call.failed_attempts = 37;
  call.notes = {{"engine", "mine 3.1"}};
  call.inputs["self"] = tensor<float>(Dtype::f32, {2, 3}, {1, -2, 0.0f, -0.0f, INFINITY, 1e-45f});
  call.inputs["weight"] = tensor<float>(Dtype::f32, {3}, {0.25f, 0.5f, -1});
  RecordedOutput out;
  out.shape = {2, 3};
  out.value = {1, 2, 3, 4, 5, std::numeric_limits<double>::quiet_NaN()};
  out.lower = {0, 1, 2, 3, 4, 1};
  out.upper = {2, 3, 4, 5, 6, -1};
  out.special = {0, 0, 0, kZeroSignDecided, kAdmitsPositiveInfinity, kAdmitsNan};
  out.actual = tensor<float>(Dtype::f32, {2, 3}, {1, 2, 3, 4, 5, NAN});
  call.outputs["out"] = out;
  call.stages["input after pack"] = tensor<std::uint16_t>(Dtype::bf16, {2, 2}, {1, 0x7FC1, 0x8000, 0xFF80});
  return call;
}

inline CaseFile sample_file() {
  CaseFile file;
  file.creator = "assay 0.1.0";
  file.cpu = "Xeon";
  file.isa = {"avx2", "avx512"};
  file.libraries = {{"dnnl", "2.7.5"}, {"odd", "=a=b"}};
  file.calls = {sample_call(), sample_call()};
  file.calls[1].op = "unheard_of";  // no operator of this program: the case text stays unread
  file.calls[1].case_text = "unheard_of:whatever";
  file.calls[1].inputs["tensors/0"] = tensor<std::int64_t>(Dtype::i64, {}, {-5});
  file.calls[1].inputs["tensors/1"] = tensor<std::int64_t>(Dtype::i64, {0, 3}, {});
  file.calls[1].stages.clear();
  return file;
}

inline std::string encoded(const CaseFile& file) { return encode_case_file(file, "t.h5"); }
inline CaseFile decoded(const std::string& bytes) {
  return decode_case_file(std::as_bytes(std::span(bytes)), "t.h5");
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// A call with others beside it.
inline RecordedCall sample_sequence() {
  RecordedCall call = sample_call();
  call.notes["repeats"] = "again and again";
  call.before = {sample_call(), sample_call()};
  call.before[1].seed = 7;
  call.after = {sample_call()};
  call.after[0].impl = "plugin:other";
  call.after[0].outputs.clear();
  return call;
}

inline void expect_same(const RecordedCall& a, const RecordedCall& b) {
  EXPECT_EQ(a.op, b.op);
  EXPECT_EQ(a.case_text, b.case_text);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.impl, b.impl);
  EXPECT_EQ(a.contract, b.contract);
  EXPECT_EQ(a.verdict, b.verdict);
  EXPECT_EQ(a.detail, b.detail);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.plugin, b.plugin);
  EXPECT_EQ(a.program, b.program);
  EXPECT_EQ(a.variables, b.variables);
  EXPECT_EQ(a.attempts, b.attempts);
  EXPECT_EQ(a.failed_attempts, b.failed_attempts);
  EXPECT_EQ(a.notes, b.notes);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.stages, b.stages);
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (const auto& [name, out] : a.outputs) {
    const RecordedOutput& other = b.outputs.at(name);
    EXPECT_EQ(out.shape, other.shape);
    EXPECT_TRUE(same_bits(out.value, other.value));
    EXPECT_TRUE(same_bits(out.lower, other.lower));
    EXPECT_TRUE(same_bits(out.upper, other.upper));
    EXPECT_EQ(out.special, other.special);
    EXPECT_EQ(out.actual, other.actual);
  }
  ASSERT_EQ(a.before.size(), b.before.size());
  for (std::size_t i = 0; i < a.before.size(); ++i) expect_same(a.before[i], b.before[i]);
  ASSERT_EQ(a.after.size(), b.after.size());
  for (std::size_t i = 0; i < a.after.size(); ++i) expect_same(a.after[i], b.after[i]);
}

inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace assay
