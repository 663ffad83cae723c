#include "seeds.h"

#include "../case_file.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr Operator kStack{
    .schema = parse_schema("assay::fuzz_stack(Tensor[] tensors, Tensor? scale=None, int dim=0) -> Tensor")};

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
  if (find_operator(kStack.schema.name) == nullptr) enrol_operator(kStack);
  std::vector<std::string> files;
  for (const std::vector<RecordedCall>& calls : {std::vector<RecordedCall>{},
                                                 {stack_call()},
                                                 {unknown_call()},
                                                 {stack_call(), stack_call(), unknown_call()}}) {
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
