// Case files that are at odds with themselves, or ask for more than to be looked at: what is wrong is said with its place, and no more
// is done.
#include "command_line_fixture.h"
#include "files_sample.h"
#include "harness/files/tensor_data.h"
#include "harness/recorded/recorded_call.h"
#include "harness/trace/bisect.h"
#include "harness/trace/overwritten.h"
#include "tensors_bytes.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// relu of a thousand numbers.
class UntrustedFiles : public CommandLine {
 protected:
  static RecordedTensor numbers(float begin) {
    std::vector<float> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = begin + static_cast<float>(i);
    return tensor(Dtype::f32, {1000}, values);
  }
  static RecordedTensor one_number() { return tensor<float>(Dtype::f32, {1}, {1}); }
  static RecordedCall relu(const std::string& name = "") {
    RecordedCall call;
    call.op = "relu";
    call.case_text = "relu:self=f32[1000]";
    call.impl = "cpu.baseline";
    call.name = name;
    call.inputs["self"] = numbers(1);
    set_result(call, numbers(1));
    return call;
  }
  static void set_result(RecordedCall& call, RecordedTensor result) {
    call.outputs["out"].shape = result.shape;
    call.outputs["out"].actual = std::move(result);
  }

  std::string saved(std::vector<RecordedCall> calls) const {
    CaseFile all;
    all.calls = std::move(calls);
    write_case_file(file("a.h5"), all);
    return file("a.h5");
  }
  Finished diagnose(std::vector<RecordedCall> calls) const {
    return assay({"diagnose", saved(std::move(calls)), "--time", "0", "--json", "-"});
  }
  Finished replay(const RecordedCall& call, std::vector<std::string> more = {},
                  const std::vector<std::string>& variables = {}) const {
    more.insert(more.begin(), {"replay", saved({call})});
    return run_program(ASSAY_PROGRAM, more, variables);
  }
  static std::string why_not_replayable(const RecordedCall& call) {
    try {
      replayable(call);
    } catch (const CaseError& e) {
      return e.what();
    }
    return "nothing was thrown";
  }
  // A dump with one tensor, which has the name of a call.
  static std::unique_ptr<TensorFile> dump_of(const std::string& call, const RecordedTensor& result) {
    return open(npy("<f4", "(1000,)", raw(result.data), false), "dir/" + call + ".npy");
  }
  static Bisection bisected(const CaseFile& trace, const TensorFile& dump) {
    BisectOptions options;
    options.diagnosis.patience.pairs = {};
    return bisect(trace, dump, options, [](const std::string&) {});
  }
};

TEST_F(UntrustedFiles, ResultsOfAnotherSizeAreNotJudged) {
  EXPECT_EQ(diagnose({relu()}).status, 0);
  RecordedCall small = relu();
  set_result(small, one_number());
  expect_usage_error(diagnose({relu(), small}),
                     "a.h5, call 1: dataset actual/out is f32[1], but this call gives f32[1000]");
  RecordedCall narrow = relu();
  set_result(narrow, tensor(Dtype::f16, {1000}, std::vector<std::uint16_t>(1000)));
  expect_usage_error(diagnose({narrow}), "dataset actual/out is f16[1000], but this call gives f32[1000]");
}

TEST_F(UntrustedFiles, ACallIsThatOfItsCaseText) {
  RecordedCall call = relu();
  EXPECT_EQ(why_not_replayable(call), "nothing was thrown");
  call.inputs["self"] = one_number();
  EXPECT_EQ(why_not_replayable(call), "dataset inputs/self is f32[1], but the case text says f32[1000]");
  call.inputs["self"] = tensor(Dtype::f64, {1000}, std::vector<double>(1000));
  EXPECT_EQ(why_not_replayable(call), "dataset inputs/self is f64[1000], but the case text says f32[1000]");
  // Of operators that this program does not know, a reader cannot compare the two.
  call.op = "unheard_of";
  call.inputs["self"] = one_number();
  EXPECT_EQ(why_not_replayable(call), "attribute op is \"unheard_of\", but the case text is of relu");
  expect_usage_error(replay(call), "a.h5, call 0: attribute op is \"unheard_of\"");
}

TEST_F(UntrustedFiles, AttributesThatSayNothingAreNamed) {
  RecordedCall call = relu();
  call.verdict = "oops";
  const std::string unknown = "a.h5, call 0: attribute verdict: unknown verdict \"oops\"";
  expect_usage_error(replay(call), unknown);
  expect_usage_error(diagnose({call}), unknown);
  call.outputs.clear();
  expect_usage_error(diagnose({call}), unknown);
  call = relu();
  call.contract = "garbage";
  expect_usage_error(diagnose({call}), "a.h5, call 0: attribute contract: ");
  call = relu();
  call.variables = {"OMP"};
  expect_usage_error(replay(call), "a.h5, call 0: attribute variables has \"OMP\", which is not NAME=VALUE");
}

TEST_F(UntrustedFiles, VariablesThatDecideWhichCodeRunsAreTheUsers) {
  RecordedCall call = relu();
  for (const char* variable :
       {"LD_PRELOAD=/nowhere/a.so", "GLIBC_TUNABLES=glibc.malloc.check=3", "MALLOC_ARENA_MAX=7",
        "PYTHONPATH=/nowhere", "ASSAY_TORCH_PYTHON=/elsewhere/python3", "OMP_TOOL_LIBRARIES=/nowhere/a.so"}) {
    call.variables = {"OMP_NUM_THREADS=2", variable};
    expect_usage_error(replay(call), std::string("a.h5, call 0: attribute variables has ") + variable);
  }
  call.variables = {"OMP_NUM_THREADS=2", "MALLOC_ARENA_MAX=7"};
  EXPECT_THAT(replay(call).err, HasSubstr("env MALLOC_ARENA_MAX=7 assay replay " + file("a.h5")));
  EXPECT_EQ(replay(call, {}, {"MALLOC_ARENA_MAX=7"}).status, 0);
  EXPECT_EQ(replay(call, {}, {"MALLOC_ARENA_MAX=8"}).status, 2);
  // They are of the recorded kernel alone.
  call.impl = "torch";
  EXPECT_EQ(replay(call, {"--impl", "cpu.baseline"}).status, 0);
  // The counts of `verify --check` went to a file of its own.
  call.impl = "cpu.baseline";
  call.variables = {"ASSAY_CUDA_STATISTICS=" + file("counts")};
  EXPECT_EQ(replay(call).status, 0);
}

TEST_F(UntrustedFiles, LibrariesThatTheyNameAreNotLoaded) {
  RecordedCall call = relu();
  call.impl = "plugin:wrong";
  call.plugin = file("none.so");
  const Finished replayed = replay(call);
  EXPECT_EQ(replayed.status, 3) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("not run   plugin:wrong         it is of the library " + call.plugin));
  EXPECT_THAT(replayed.out, HasSubstr("assay replay " + file("a.h5") + " --plugin " + call.plugin));
  expect_usage_error(replay(call, {"--plugin", call.plugin}), "--plugin " + call.plugin);
  call.stages["received/self"] = call.inputs["self"];
  const Finished diagnosed = diagnose({call});
  EXPECT_EQ(diagnosed.status, 0) << diagnosed.err;
  EXPECT_THAT(diagnosed.out, HasSubstr("loaded only if you name it, too: --plugin " + call.plugin));
}

// ---- Traces -----------------------------------------------------------------------------------------------

TEST_F(UntrustedFiles, APartOfSomethingSmallerIsMemoryOfItsOwn) {
  CaseFile trace;
  trace.calls = {relu("a"), relu("b")};
  trace.calls[0].notes["onto.out"] = "0:small@offset(0)@strides(1)";
  trace.calls[0].outputs["small"].actual = one_number();
  trace.calls[1].op = "unheard_of";
  trace.calls[1].notes["over.out"] = "0:out";
  set_result(trace.calls[1], numbers(7));
  const auto file = dump_of("w", numbers(0));
  const diff::NameMap map;
  const Matched nothing;
  const Dump dump(trace, *file, map, nothing);
  const Call call = replayable(relu()).call;
  const KnownResult came{tensor_of(numbers(7)), {}};
  diagnose::Evidence evidence(call, Contract(), ExpectedOutputs{came.data.packed()});
  EXPECT_EQ(overwritten_by(trace, dump, 0, "out", evidence, came), "b");
  const KnownResult small{tensor_of(one_number()), {}};
  EXPECT_EQ(overwritten_by(trace, dump, 0, "out", evidence, small), std::nullopt);
}

// A result that the file calls the memory of another one, in another shape.
TEST_F(UntrustedFiles, WhatIsKnownOfAResultStays) {
  CaseFile trace;
  trace.calls = {relu("a")};
  trace.calls[0].notes["onto.part"] = "0:out@offset(0)@strides(1)";
  set_result(trace.calls[0], one_number());
  const Bisection b = bisected(trace, *dump_of("a", numbers(7)));
  EXPECT_EQ(b.calls.at(0).status, BisectedCall::Status::wrong);
}

TEST_F(UntrustedFiles, NumbersOfAnotherShapeAreNotAlike) {
  CaseFile trace;
  trace.calls = {relu("a"), relu("b")};
  set_result(trace.calls[0], one_number());
  trace.calls[1].notes["through.self"] = "sin(0:out)";
  const Bisection b = bisected(trace, *dump_of("b", numbers(7)));
  EXPECT_EQ(b.calls.at(1).status, BisectedCall::Status::not_judged);
  ASSERT_EQ(b.calls.at(1).says.size(), 1u);
  EXPECT_THAT(b.calls[1].says[0], HasSubstr("through sin, which was not recorded"));
}

TEST_F(UntrustedFiles, ATensorOfADumpThatIsTooLargeIsNamed) {
  const CaseFile trace;
  const diff::NameMap map;
  const auto file = open(npy("<f4", "(1152921504606846976, 0)", "", false));
  const Matched nothing;
  const Dump dump(trace, *file, map, nothing);
  EXPECT_EQ(error_of([&] { dump.peek("w"); }),
            "cannot read dir/w.npy: tensor \"w\": shape [1152921504606846976x0] has too many elements");
}

}  // namespace
}  // namespace assay
