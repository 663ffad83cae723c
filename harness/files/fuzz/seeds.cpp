#include "seeds.h"

#include "../case_file.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr Operator kStack{
    .schema = parse_schema("assay::fuzz_stack(Tensor[] tensors, Tensor? scale=None, int dim=0) -> Tensor"),
    .shapes = "-> [2,2]"};
// Its arguments are allowed or not for their data alone.
constexpr Operator kRows{.schema = parse_schema("assay::fuzz_rows(Tensor weight, Tensor indices) -> Tensor"),
                         .shapes = "weight=[N,D] indices=[*] -> [*,D]",
                         .domains = "indices: index(weight)"};

RecordedTensor tensor(Dtype dtype, Shape shape, std::size_t size) {
  RecordedTensor t{dtype, std::move(shape), std::vector<std::byte>(size)};
  for (std::size_t i = 0; i < size; ++i) t.data[i] = static_cast<std::byte>(i * 167 >> 2);
  return t;
}

RecordedCall stack_call() {
  RecordedCall call;
  call.op = kStack.schema.name;
  call.case_text = "fuzz_stack:f32:tensors=[[2],[2]],scale=f32[]:seed=3";
  call.seed = 3;
  call.impl = "plugin:mine";
  call.contract = "f32: exp=2ulp -- mine.c:7";
  call.verdict = "diverged";
  call.program = {"assay", "worker"};
  call.notes = {{"engine", "mine"}};
  call.inputs = {{"tensors/0", tensor(Dtype::f32, {2}, 8)},
                 {"tensors/1", tensor(Dtype::f32, {2}, 8)},
                 {"scale", tensor(Dtype::f32, {}, 4)}};
  RecordedOutput out;
  out.shape = {2, 2};
  out.value = {1, 2, 3, 4};
  out.lower = out.value;
  out.upper = out.value;
  out.special = {0, 1, 2, 3};
  out.actual = tensor(Dtype::f32, {2, 2}, 16);
  call.outputs = {{"out", out}};
  return call;
}

// With the data family and the indices both as they should be or not.
RecordedCall rows_call(const std::string& data, const std::vector<std::int64_t>& indices) {
  RecordedCall call;
  call.op = kRows.schema.name;
  call.case_text = "fuzz_rows:weight=f32[3x2],indices=i64[4]:data=" + data + ":seed=1";
  call.impl = "fixture:torch";
  const auto* bytes = reinterpret_cast<const std::byte*>(indices.data());
  call.inputs = {{"weight", tensor(Dtype::f32, {3, 2}, 24)},
                 {"indices", {Dtype::i64, {4}, {bytes, bytes + indices.size() * sizeof(std::int64_t)}}}};
  RecordedOutput out;
  out.shape = {4, 2};
  out.actual = tensor(Dtype::f32, {4, 2}, 32);
  call.outputs = {{"out", out}};
  return call;
}

// Of an operator that no program knows, with every dtype, in compact and chunked datasets.
RecordedCall unknown_call() {
  RecordedCall call;
  call.op = "unheard_of";
  call.case_text = "unheard_of:x";
  call.detail = std::string(70'000, 'd');
  for (int d = 0; d < kDtypes; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    call.inputs[std::string(name(dtype))] = tensor(dtype, {3, 1}, 3 * static_cast<std::size_t>(bytes(dtype)));
  }
  call.stages = {{"empty", tensor(Dtype::f32, {0, 3}, 0)}, {"large", tensor(Dtype::f16, {100, 200}, 40'000)}};
  RecordedOutput only_actual;
  only_actual.shape = {5};
  only_actual.actual = tensor(Dtype::boolean, {5}, 5);
  call.outputs = {{"out0", only_actual}};
  return call;
}

}  // namespace

std::vector<std::string> seed_files() {
  enrol_operator(kStack);
  enrol_operator(kRows);
  RecordedCall renamed = rows_call("normal", {2, 0, 1, 2});
  renamed.op = "unheard_of";
  renamed.inputs["indices"] = tensor(Dtype::u8, {1}, 1);
  std::vector<std::string> files;
  for (const std::vector<RecordedCall>& calls :
       {std::vector<RecordedCall>{},
        {stack_call()},
        {unknown_call()},
        {stack_call(), stack_call(), unknown_call()},
        {rows_call("normal", {2, 0, 1, 2}), rows_call("normal", {2, 0, 1, std::int64_t{1} << 40})},
        {rows_call("past_end", {2, 0, 1, 2}), rows_call("past_end", {2, 0, -1, 2})},
        {renamed}}) {
    CaseFile file;
    file.creator = "fuzz";
    file.isa = {"avx2"};
    file.libraries = {{"dnnl", "2.7"}};
    file.calls = calls;
    files.push_back(encode_case_file(file, "seed"));
  }
  return files;
}

}  // namespace assay
