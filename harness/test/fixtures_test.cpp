// Fixtures: reading them, their manifest, and a run on them from the command line.
#include "harness/recorded/fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "files_sample.h"
#include "harness/files/sha256.h"
#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

RecordedCall relu_call(std::vector<float> given) {
  RecordedCall call;
  call.op = "relu";
  call.case_text = "relu:self=f32[3]";
  call.impl = "somebody";
  call.inputs["self"] = tensor<float>(Dtype::f32, {3}, {-1, 2, 3});
  call.outputs["out"].shape = {3};
  call.outputs["out"].actual = tensor<float>(Dtype::f32, {3}, given);
  return call;
}

std::string message_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const FileError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Fixture, IsJudgedByTheReference) {
  const Fixture right = fixture_of(relu_call({0, 2, 3}), "here");
  EXPECT_EQ(right.producer, "somebody");
  EXPECT_EQ(judge_fixture(right).verdict, Verdict::pass);
  const Judgement wrong = judge_fixture(fixture_of(relu_call({0, 2, 3.0000002f}), "here"));
  EXPECT_EQ(wrong.verdict, Verdict::diverged);
  EXPECT_THAT(wrong.detail, HasSubstr("out[2] is 3.0000002"));
}

TEST(Fixture, SaysWhatIsWrongAndWhere) {
  const auto wrong = [](const std::function<void(RecordedCall&)>& change) {
    RecordedCall call = relu_call({0, 2, 3});
    change(call);
    return message_of([&] { fixture_of(call, "a.h5, call 7"); });
  };
  EXPECT_THAT(wrong([](RecordedCall& c) { c.op = "relo"; }),
              HasSubstr("a.h5, call 7: there is no operator \"relo\"; did you mean \"relu\"?"));
  EXPECT_THAT(wrong([](RecordedCall& c) { c.case_text = "relu:self=f32[3"; }), HasSubstr("a.h5, call 7: "));
  EXPECT_THAT(wrong([](RecordedCall& c) { c.outputs.clear(); }), HasSubstr("no dataset below actual"));
  EXPECT_THAT(wrong([](RecordedCall& c) { c.outputs["out"].actual->dtype = Dtype::i32; }),
              HasSubstr("actual/out is i32[3], but this call gives f32[3]"));
  EXPECT_THAT(wrong([](RecordedCall& c) {
                c.outputs["out"].actual->shape = {1, 3};
              }),
              HasSubstr("actual/out is f32[1x3]"));
  EXPECT_THAT(wrong([](RecordedCall& c) { c.outputs["out7"] = c.outputs["out"]; }),
              HasSubstr("relu has no such result"));
  EXPECT_THAT(wrong([](RecordedCall& c) { c.contract = "f32: exp=2ulp"; }), HasSubstr("source"));
  EXPECT_THAT(wrong([](RecordedCall& c) { c.impl.clear(); }), HasSubstr("impl"));
  const std::string arguments = wrong([](RecordedCall& c) {
    c.op = "mm";
    c.case_text = "mm:self=f32[2x3],mat2=f32[2x3]";
    c.inputs = {{"self", tensor<float>(Dtype::f32, {2, 3}, {1, 2, 3, 4, 5, 6})}};
    c.inputs["mat2"] = c.inputs["self"];
  });
  EXPECT_THAT(arguments, HasSubstr("wrong arguments: "));
}

class FixtureFolder : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  void write(const std::string& name, std::vector<RecordedCall> calls) const {
    CaseFile file;
    file.libraries = {{"somebody", "1.2"}};
    file.calls = std::move(calls);
    write_case_file(path(name), file);
  }
  void write_sums(const std::vector<std::string>& names) const {
    std::string text;
    for (const std::string& name : names) text += sha256(read_file(path(name))) + "  " + name + "\n";
    write_file(path("SHA256SUMS"), text);
  }
  std::string error() const {
    return message_of([&] { read_fixtures(folder_.path().string()); });
  }

  TemporaryFolder folder_;
};

TEST_F(FixtureFolder, IsReadWithItsManifest) {
  write("a.h5", {relu_call({0, 2, 3}), relu_call({0, 2, 3})});
  write("b.h5", {relu_call({0, 2, 3})});
  EXPECT_EQ(read_fixtures(folder_.path().string()).fixtures.size(), 3u) << "a manifest is not required";
  write_sums({"a.h5", "b.h5"});
  const Fixtures all = read_fixtures(folder_.path().string());
  EXPECT_EQ(all.fixtures.size(), 3u);
  EXPECT_EQ(all.fixtures[1].origin, path("a.h5") + ", call 1");
  EXPECT_EQ(all.fixtures[1].version, "1.2");
  EXPECT_EQ(read_fixtures(path("b.h5")).fixtures.size(), 1u);
}

TEST_F(FixtureFolder, WhoseFilesAreNotThoseOfTheManifestIsAnErrorThatNamesTheFile) {
  write("a.h5", {relu_call({0, 2, 3})});
  write("b.h5", {relu_call({0, 2, 3})});
  write_sums({"a.h5", "b.h5"});
  write("b.h5", {relu_call({0, 2, 4})});
  EXPECT_THAT(error(), HasSubstr(path("b.h5") + " is not the file that SHA256SUMS lists"));
  EXPECT_THAT(message_of([&] { read_fixtures(path("b.h5")); }), HasSubstr("b.h5 is not the file"));
  write_sums({"a.h5"});
  EXPECT_THAT(error(), HasSubstr(path("b.h5") + " is not listed"));
  write_sums({"a.h5", "b.h5"});
  fs::remove(path("b.h5"));
  EXPECT_THAT(error(), HasSubstr(path("b.h5") + " is listed in SHA256SUMS and is not there"));
  write_file(path("SHA256SUMS"), "nonsense\n");
  EXPECT_THAT(error(), HasSubstr("\"nonsense\" is not a line"));
}

TEST_F(FixtureFolder, ThatIsMissingEmptyOrTruncatedIsAnError) {
  EXPECT_THAT(error(), HasSubstr("no recorded calls"));
  EXPECT_THAT(message_of([&] { read_fixtures(path("none")); }), HasSubstr("no such file or folder"));
  write("a.h5", {relu_call({0, 2, 3})});
  const std::string bytes = read_file(path("a.h5"));
  write_file(path("a.h5"), std::string_view(bytes).substr(0, bytes.size() / 2));
  EXPECT_THAT(error(), HasSubstr(path("a.h5")));
}

class FixtureCommand : public FixtureFolder {
 protected:
  Finished verify(std::vector<std::string> more) const {
    more.insert(more.begin(), {"verify", "--out", path("out"), "--impl", "cpu.*"});
    return run_program(ASSAY_PROGRAM, more);
  }
};

TEST_F(FixtureCommand, RunsEveryKernelOnTheFixturesOfTheRepository) {
  const Finished f = verify({"--fixtures", ASSAY_FIXTURES, "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err << f.out;
  const json run = json::parse(f.out);
  EXPECT_GE(run["fixtures"]["found"], 90);
  std::size_t of_producer = 0;
  std::size_t ours = 0;
  for (const json& row : run["results"]) {
    if (row["impl"] == "fixture:torch") {
      ++of_producer;
      EXPECT_FALSE(row["peer"]);
      EXPECT_EQ(row["verdict"], "pass") << row;
      EXPECT_THAT(row["information"].get<std::string>(), HasSubstr("torch 1.13"));
    }
    ours += row["impl"] == "cpu.baseline" && row["verdict"] == "pass";
  }
  EXPECT_GE(of_producer, 60u);
  EXPECT_EQ(ours, of_producer) << "each is run by our kernels too";
}

TEST_F(FixtureCommand, FindsAPlantedWrongResultAndReplaysIt) {
  write("a.h5", {relu_call({0, 2, 3}), relu_call({0, 2, 7})});
  const Finished f = verify({"--fixtures", folder_.path().string(), "--json", "-"});
  EXPECT_EQ(f.status, 1) << f.err;
  std::string replay;
  const json run = json::parse(f.out);
  for (const json& row : run["results"]) {
    if (row["verdict"] == "not_run") continue;
    EXPECT_EQ(row["cases"], 2);
    EXPECT_EQ(row["verdict"], row["impl"] == "fixture:somebody" ? "diverged" : "pass") << row;
    if (row["failures"].empty()) continue;
    EXPECT_THAT(row["failures"][0]["detail"].get<std::string>(), HasSubstr("out[2] is 7, but must be 3"));
    EXPECT_THAT(row["failures"][0]["detail"].get<std::string>(), HasSubstr("a.h5, call 1"));
    replay = row["failures"][0]["replay"];
  }
  ASSERT_FALSE(replay.empty());
  const Finished again = run_program(ASSAY_PROGRAM, {"replay", replay});
  EXPECT_EQ(again.status, 1) << again.err;
  EXPECT_THAT(again.out, HasSubstr("now       fixture:somebody     diverged: out[2] is 7"));
  EXPECT_EQ(run_program(ASSAY_PROGRAM, {"replay", replay, "--impl", "cpu.baseline"}).status, 0);
}

// PyTorch is a peer there, whose known faults do not end the run.
TEST_F(FixtureCommand, RunsTheSamplesOfPyTorch) {
  const Finished f = verify({"--fixtures", "opinfo", "relu", "div.Tensor_mode", "--json", "-"});
  if (f.status == 3) GTEST_SKIP() << f.err;
  EXPECT_EQ(f.status, 0) << f.err << f.out;
  const json run = json::parse(f.out);
  EXPECT_GE(run["fixtures"]["found"], 20000);
  EXPECT_GE(run["fixtures"]["left_out"]["of an operator that Assay has not"], 20000);
  std::size_t of_torch = 0;
  for (const json& row : run["results"]) of_torch += row["impl"] == "fixture:torch" && row["peer"];
  EXPECT_EQ(of_torch, 6u) << "relu and div in f32, bf16 and i64";
}

TEST_F(FixtureCommand, TakesNoFlagsThatChooseGeneratedCases) {
  write("a.h5", {relu_call({0, 2, 3})});
  EXPECT_EQ(verify({"--fixtures", folder_.path().string(), "--cases", "3"}).status, 2);
  EXPECT_EQ(verify({"--fixtures", folder_.path().string(), "--case", "relu:f32:self=3"}).status, 2);
  const Finished none = verify({"--fixtures", folder_.path().string(), "mm"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("no fixture of"));
  EXPECT_EQ(verify({"--fixtures", path("none")}).status, 2);
}

}  // namespace
}  // namespace assay
