// What a user gets wrong is said before any work is done.
#include <filesystem>

#include "command_line_fixture.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What a case takes is told by its text, results included: nothing is allocated to find out.
TEST_F(CommandLine, CasesThatAreTooLargeAreWrongUsage) {
  const auto large = [](const std::string& size) {
    return "upsample_nearest2d:f32:self=1x1x4x4,output_size=[" + size + "]";
  };
  expect_usage_error(verify({"--case", large("1000000,1000")}),
                     "the output out is f32[1x1x1000000x1000]: the case needs about");
  expect_usage_error(verify({"--case", large("1000000000,1000000000")}),
                     "the output out is f32[1x1x1000000000x1000000000]: the case needs about");
  expect_usage_error(assay({"explain", large("1000000,1000")}), "the output out is");
  expect_usage_error(verify({"--case", "add.Tensor:f32:self=100000x1,other=1x100000"}),
                     "the output out is f32[100000x100000]");
  std::string shape = "1";
  for (int i = 1; i < 70; ++i) shape += "x1";
  expect_usage_error(verify({"--case", "relu:f32:self=" + shape}), "it has 70 dimensions");
}

// Without its part nobody has looked for a GPU.
TEST_F(CommandLine, TheVersionNamesNoDeviceThatWasNotLookedFor) {
  std::filesystem::copy_file(ASSAY_PROGRAM, file("assay"));
  const Finished f = run_program(file("assay"), {"--version"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(f.out.find("a device\n"), std::string::npos) << f.out;
}

TEST_F(CommandLine, WhatContradictsItselfIsWrongUsage) {
  const std::string x = file("x.bin"), raw = "raw:f32[4]@" + x;
  std::ofstream(x, std::ios::binary) << std::string(16, '\0');
  expect_usage_error(verify({"relu", "--json", "-", "--junit", "-"}), "--json and --junit are both -");
  expect_usage_error(verify({"relu", "--json", file("a"), "--junit", file("a")}),
                     "--json and --junit are both");
  expect_usage_error(assay({"diff", raw, raw, "--json", "-", "--svg", "-"}), "--json and --svg are both -");
  expect_usage_error(assay({"ops", "relu", "--json", "-", "--yaml", "-"}), "--json and --yaml are both -");
  const std::vector<std::string> relu{"diagnose", "--op", "relu", "--arg", "self=@" + raw};
  const auto diagnose = [&](std::vector<std::string> more) {
    more.insert(more.begin(), relu.begin(), relu.end());
    return assay(more);
  };
  expect_usage_error(diagnose({"--actual", raw, "--json", "-", "--svg", "-"}), "--json and --svg are both -");
  expect_usage_error(diagnose({"--actual", raw, "--actual", "out=" + raw}), "the result out is given twice");
  expect_usage_error(diagnose({"--actual", raw, "--time", "nan"}), "nan is no number of seconds");
  EXPECT_EQ(diagnose({"--actual", raw}).status, 0);
  expect_usage_error(assay({"diagnose", file("a.h5"), "--call", "-1"}), "--call: -1 is no whole number");
  expect_usage_error(verify({"--case", "relu:f32:self=2", "--dtype", "f64"}),
                     "--case and --dtype exclude each other");
  expect_usage_error(verify({"--case", "relu:f32:self=2:seed=1:seed=2"}), "given twice");
  expect_usage_error(verify({"relu", "--time", "nan"}), "--time is \"nan\"");
  expect_usage_error(verify({"relu", "--time", "inf"}), "--time is \"inf\"");
  expect_usage_error(assay({"bisect", file("a.h5"), raw, "--time", "nan"}), "nan is no number of seconds");
  expect_usage_error(assay({"record", x, "--limit", "-1"}), "--limit: -1 is no whole number");
  expect_usage_error(assay({"selftest", "relu", "--list", "--json", "-"}),
                     "--list and --json exclude each other");
}

// What a command reads is still there afterwards, whatever its output is called.
TEST_F(CommandLine, AnOutputIsNoInput) {
  const std::string raw = "raw:f32[4]@" + file("x.bin"), h5 = file("calls.h5");
  const auto save = [](const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };
  for (const char* name : {"x.bin", "y.bin"}) save(file(name), std::string(16, '\0'));
  for (const char* name : {"map.txt", "shapes.txt", "calls.h5"}) save(file(name), "text");
  std::filesystem::create_directories(file("dumps"));
  save(file("dumps/w.npy"), "text");
  std::filesystem::create_directories(file("tests/relu/test_data_set_0"));
  save(file("tests/relu/test_data_set_0/input_0.pb"), "text");
  std::filesystem::copy_file(ASSAY_COMMAND_TEST_PLUGIN, file("lib.so"));
  std::filesystem::create_symlink(file("lib.so"), file("link.so"));
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& lost) {
    const auto before = std::filesystem::file_size(lost);
    expect_usage_error(assay(arguments), "is read, too, and would be lost");
    EXPECT_EQ(std::filesystem::file_size(lost), before) << arguments[0];
  };
  const std::string x = file("x.bin"), map = file("map.txt"), shapes = file("shapes.txt"),
                    lib = file("lib.so"), in_folder = file("dumps/w.npy"),
                    fixture = file("tests/relu/test_data_set_0/input_0.pb");
  refused({"diff", raw, "raw:f32[4]@" + file("y.bin"), "--json", x}, x);
  refused({"diff", raw, file("dumps"), "--svg", in_folder}, in_folder);
  refused({"diff", raw, raw, "--map", map, "--json", map}, map);
  refused({"bisect", h5, raw, "--json", h5}, h5);
  refused({"bisect", h5, raw, "--json", file("dumps/../x.bin")}, x);
  refused({"bisect", h5, raw, "--map", map, "--json", map}, map);
  refused({"bench", "--plugin", lib, "--json", lib}, lib);
  refused({"bench", "--plugin", file("link.so"), "--json", lib}, lib);
  refused({"bench", "--against", lib, "--json", lib}, lib);
  refused({"bench", "--shapes", shapes, "--json", shapes}, shapes);
  refused({"bench", "--shapes", file("."), "--json", shapes}, shapes);
  refused({"selftest", "--plugin", lib, "--json", lib}, lib);
  refused({"verify", "--plugin", lib, "--out", file("out"), "--html", lib}, lib);
  refused({"verify", "--fixtures", h5, "--out", file("out"), "--json", h5}, h5);
  refused({"verify", "--fixtures", file("tests"), "--out", file("out"), "--junit", fixture}, fixture);
  refused({"explain", "relu:f32:self=3", "--plugin", lib, "--json", lib}, lib);
  refused({"diagnose", h5, "--json", h5}, h5);
  refused({"diagnose", h5, "--plugin", lib, "--svg", lib}, lib);
  const std::vector<std::string> relu{"diagnose", "--op", "relu", "--json", x};
  const auto diagnose = [&](std::vector<std::string> more) {
    more.insert(more.begin(), relu.begin(), relu.end());
    refused(more, x);
  };
  diagnose({"--arg", "self=@" + raw, "--actual", file("y.bin")});
  diagnose({"--actual", "out=" + x});
  diagnose({"--actual", file("y.bin"), "--expected", x + ":conv1"});
  refused({"merge", file("calls.h5"), "--output", file("calls.h5")}, file("calls.h5"));
  // Beside what is read there is room, and in a folder of it.
  EXPECT_EQ(assay({"diff", raw, "raw:f32[4]@" + file("y.bin"), "--json", file("dumps/d.json")}).status, 0);
}

// Names of one place may be spelt in many ways.
TEST_F(CommandLine, TwoOutputsAreTwoFiles) {
  const std::string x = file("x.bin"), raw = "raw:f32[4]@" + x;
  std::ofstream(x, std::ios::binary) << std::string(16, '\0');
  std::filesystem::create_symlink(folder_.path(), file("link"));
  for (const char* same : {"./o", ".//o", "link/o", "none/../o"})
    expect_usage_error(assay({"diff", raw, raw, "--json", file("o"), "--svg", file(same)}),
                       "one would be lost in the other");
  EXPECT_FALSE(std::filesystem::exists(file("o")));
  EXPECT_EQ(assay({"diff", raw, raw, "--json", file("o"), "--svg", file("p")}).status, 0);
}

TEST_F(CommandLine, WhatCannotBeReadIsWrongUsage) {
  expect_usage_error(assay({"diff", "raw:f32[4]@/dev/zero", "raw:f32[4]@/dev/zero"}),
                     "cannot read /dev/zero: it is a device");
  expect_usage_error(assay({"merge", "/dev/zero", "-o", file("all.json")}), "it is a device");
  const auto save = [&](const std::string& name, const std::string& header) {
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    std::ofstream(file(name), std::ios::binary) << length << header << (header == "{}" ? "" : "1234");
  };
  save("dtype.safetensors", R"({"w":{"dtype":"F4","shape":[8],"data_offsets":[0,4]}})");
  expect_usage_error(assay({"diff", file("dtype.safetensors"), file("dtype.safetensors")}),
                     "nothing was compared, as no tensor can be read");
  save("none.safetensors", "{}");
  expect_usage_error(assay({"diff", file("none.safetensors"), file("none.safetensors")}),
                     "none.safetensors has a tensor");
  save("header.safetensors", R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4}})");
  const Finished bad = assay({"diff", file("header.safetensors"), file("header.safetensors")});
  expect_usage_error(bad, "its header is no JSON: ");
  EXPECT_THAT(bad.err, Not(HasSubstr("json.exception")));
}

// One name is right everywhere or nowhere.
TEST_F(CommandLine, OperatorsAreNamedAlikeInEveryCommand) {
  const auto commands = [&](const std::string& op) {
    const std::string text = op + ":f32:self=2,other=2";
    return std::vector<std::vector<std::string>>{
        {"verify", op, "--cases", "3", "--impl", "cpu.baseline", "--dtype", "f32", "--out", file("out")},
        {"verify", "--case", text, "--impl", "cpu.baseline", "--out", file("out")},
        {"ops", op},
        {"explain", text},
        {"bounds", text},
        {"selftest", op, "--list"},
        {"diagnose", "--op", op, "--arg", "self=@raw:f32[2]@" + file("two"), "--arg",
         "other=@raw:f32[2]@" + file("two"), "--actual", "raw:f32[2]@" + file("sum")}};
  };
  const float two[] = {1, 2}, sum[] = {2, 4};
  std::ofstream(file("two"), std::ios::binary).write(reinterpret_cast<const char*>(two), sizeof two);
  std::ofstream(file("sum"), std::ios::binary).write(reinterpret_cast<const char*>(sum), sizeof sum);
  for (const char* op : {"add", "add.Tensor", "aten::add", "aten::add.Tensor"})
    for (const std::vector<std::string>& command : commands(op)) {
      const Finished f = assay(command);
      EXPECT_EQ(f.status, 0) << op << " " << command[0] << f.err;
    }
  std::vector<std::vector<std::string>> misspelt = commands("aten::addd");
  misspelt.push_back({"bench", "aten::addd"});
  misspelt.push_back({"bench", "--case", "aten::addd:f32:self=2,other=2"});
  for (const std::vector<std::string>& command : misspelt)
    expect_usage_error(assay(command), "there is no operator \"aten::addd\"; did you mean \"add.Tensor\"?");
}

TEST_F(CommandLine, OpsSaysWhichDtypesArgumentsAndResultsHave) {
  const Finished f =
      assay({"ops", "embedding", "where", "argmax", "quantize_per_tensor", "native_layer_norm"});
  EXPECT_EQ(f.status, 0) << f.err;
  for (const char* part :
       {"takes weight: one of these; indices: i64 or i32", "gives out: the dtype of weight",
        "takes condition: bool; self, other: each one of these", "gives out: i64",
        "takes self: f32; dtype: one of these",
        "takes input, weight (or none), bias (or none): one of these, the same for all",
        "gives out0, out1, out2: the dtype of input"})
    EXPECT_THAT(f.out, HasSubstr(part));
}

// The launcher asks whether flags are right before it builds what they need.
TEST_F(CommandLine, ParsesWithoutRunning) {
  setenv("ASSAY_ONLY_PARSE", "1", 1);
  const Finished right = verify({"relu", "--impl", "onednn*"}), wrong = verify({"relu", "--implement", "onednn*"});
  unsetenv("ASSAY_ONLY_PARSE");
  EXPECT_EQ(right.status, 0);
  EXPECT_EQ(right.out + right.err, "");
  expect_usage_error(wrong, "--implement");
}

TEST_F(CommandLine, WhatIsNearlyRightIsTold) {
  expect_usage_error(assay({"verif"}), "there is no command \"verif\"; the nearest is \"verify\"");
  expect_usage_error(assay({"VERIFY"}), "there is no command \"VERIFY\"; the nearest is \"verify\"");
  expect_usage_error(assay({"conquer"}), "there is no command \"conquer\" (`assay --help` lists them)");
  expect_usage_error(verify({"RELU"}), "there is no operator \"RELU\"; did you mean \"relu\"?");
  expect_usage_error(verify({"nosuch"}), "there is no operator \"nosuch\" (`assay ops` lists them)");
  expect_usage_error(verify({"nosuch*"}), "no operator matches \"nosuch*\" (`assay ops` lists them)");
  expect_usage_error(verify({"relu", "--impl", "cpu.baseline", "cpu.avx2"}),
                     "which names a kernel: kernels are comma-separated, --impl \"cpu.baseline,cpu.avx2\"");
  expect_usage_error(assay({"explain", "relu"}), "argument \"self\" is missing");
  EXPECT_THAT(assay({"selftest", "--help"}).out, Not(HasSubstr("{false}")));
  EXPECT_THAT(assay({"verify", "--help"}).out, HasSubstr("Exit codes: 0 all well"));
}

// --check looks at one kind of kernels; a run without them looks at nothing.
TEST_F(CommandLine, ACheckOfNothingIsSaid) {
  const Finished none = verify({"relu", "--impl", "cpu.baseline", "--check", "--cases", "4"});
  expect_usage_error(none, "--check");
  if (none.err.find("this build has no kernels") != std::string::npos) GTEST_SKIP() << none.err;
  EXPECT_THAT(
      none.err,
      HasSubstr("--check looks at the kernels of cuda.emulated, which --impl \"cpu.baseline\" leaves out"));
  const auto relu = [&](const std::string& impl) {
    return verify({"relu", "--impl", impl, "--check", "--cases", "4", "--dtype", "f32"});
  };
  EXPECT_THAT(relu("cuda.emulated").err, Not(HasSubstr("--check")));
  EXPECT_THAT(relu("!torch,!onednn*").err, Not(HasSubstr("--check")));
}

TEST_F(CommandLine, TheFolderOfTheEnvironmentIsCalledByItsName) {
  const Finished bad = run_program(ASSAY_PROGRAM, {"verify", "relu"}, {"ASSAY_OUT=/proc/nowhere"});
  expect_usage_error(bad, "assay: ASSAY_OUT /proc/nowhere: cannot create the folder");
  expect_usage_error(
      run_program(ASSAY_PROGRAM, {"verify", "relu", "--out", "/proc/here"}, {"ASSAY_OUT=/proc/nowhere"}),
      "assay: --out /proc/here: cannot create the folder");
  const Finished empty =
      run_program("/bin/sh", {"-c",
                              "cd \"$1\" && ASSAY_OUT= exec \"$0\" verify relu --impl cpu.baseline "
                              "--dtype f32 --cases 4",
                              ASSAY_PROGRAM, folder_.path().string()});
  EXPECT_EQ(empty.status, 0) << empty.err;
  EXPECT_TRUE(std::filesystem::exists(file("assay-out/run.json")));
}

// A limit on the size of files is an error as a full disk is one.
TEST_F(CommandLine, ALimitOnTheSizeOfFilesIsSaid) {
  const Finished f = run_program(
      "/bin/bash", {"-c", "ulimit -f 4; exec \"$0\" ops --json \"$1\"", ASSAY_PROGRAM, file("ops.json")});
  EXPECT_EQ(f.status, 2);
  EXPECT_THAT(f.err,
              HasSubstr("cannot write " + file("ops.json") + ": File too large: raise the file size limit"));
}

// Of some kernels no process could be started: nothing is known of them, so this is no run that has passed.
TEST_F(CommandLine, KernelsThatCouldNotBeRunHaveNotPassed) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more files to look at objects";
  const Finished f =
      run_program("/bin/bash", {"-c", "ulimit -n 16; exec \"$0\" \"$@\"", ASSAY_PROGRAM, "verify", "relu",
                                "prelu", "--dtype", "f32", "--impl", "cpu.*", "--impl", "onednn*", "--cases",
                                "10", "--out", folder_.path().string()});
  EXPECT_EQ(f.status, 3) << f.out << f.err;
  EXPECT_THAT(f.out, HasSubstr("Too many open files"));
  EXPECT_THAT(f.out, Not(HasSubstr("PASSED")));
}

TEST_F(CommandLine, PathsThatCannotBeAreWrongUsage) {
  const std::string loop = file("loop.h5");
  std::filesystem::create_symlink("loop.h5", loop);
  expect_usage_error(assay({"verify", "--fixtures", loop}), loop + ": Too many levels of symbolic links");
  expect_usage_error(assay({"verify", "relu", "--json", std::string(300, 'a')}), ": File name too long");
}

TEST_F(CommandLine, TheScoreOfDiagnosisTakesNoChoiceOfDataAndPlugins) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--cases", "5"},
                                               {"--no-rivals"},
                                               {"--list"},
                                               {"--plugin", ASSAY_COMMAND_TEST_PLUGIN}}) {
    std::vector<std::string> words{"selftest", "relu", "--diagnosis"};
    words.insert(words.end(), more.begin(), more.end());
    expect_usage_error(assay(words), more[0]);
  }
}

TEST_F(CommandLine, ExplainNamesTheReferenceInTheCheckout) {
  EXPECT_THAT(assay({"explain", "relu:f32:self=3"}).out, HasSubstr("\nreference  reference/activation.cpp:"));
}

// Who reads has seen enough: `assay ops | head`.
TEST_F(CommandLine, AClosedPipeIsNoError) {
  const Finished ops =
      run_program("/bin/bash", {"-c", "\"$0\" ops --contracts | head -n 1 > /dev/null", ASSAY_PROGRAM});
  // What takes long, under sanitizers, says that it does.
  EXPECT_TRUE(ops.err.empty() || kSanitized) << ops.err;
  const Finished json = run_program(
      "/bin/bash",
      {"-c", "\"$0\" ops --json - | head -n 1 > /dev/null; exit ${PIPESTATUS[0]}", ASSAY_PROGRAM});
  EXPECT_TRUE(json.err.empty() || kSanitized) << json.err;
  EXPECT_EQ(json.status, 0);
}

TEST_F(CommandLine, AFullDiskIsNoSuccess) {
  const std::string x = file("x.bin"), raw = "raw:f32[4]@" + x;
  std::ofstream(x, std::ios::binary) << std::string(16, '\0');
  const std::vector<std::vector<std::string>> commands{
      {"--version"},
      {"--help"},
      {"ops", "relu"},
      {"ops", "--json", "-"},
      {"explain", "relu:f32:self=3"},
      {"diff", raw, raw},
      {"diff", raw, raw, "--json", "-"},
      {"diagnose", "--op", "relu", "--arg", "self=@" + raw, "--actual", raw},
      {"selftest", "relu", "--list"},
      {"verify", "relu", "--impl", "cpu.baseline", "--cases", "4", "--out", file("out")},
      {"verify", "relu", "--impl", "cpu.baseline", "--cases", "4", "--out", file("out"), "--json", "-"},
      {"merge", file("out/run.json"), "-o", file("all.json")},
      {"replay", std::string(ASSAY_FIXTURES) + "/../peers/mm-onednn.avx512-bf16.h5", "--impl",
       "cpu.baseline"}};
  for (const std::vector<std::string>& command : commands) {
    std::vector<std::string> words{"-c", "exec \"$@\" > /dev/full", "sh", ASSAY_PROGRAM};
    words.insert(words.end(), command.begin(), command.end());
    const Finished f = run_program("/bin/sh", words);
    EXPECT_EQ(f.status, 2) << command[0];
    EXPECT_THAT(f.err, HasSubstr("cannot write standard output: No space left on device")) << command[0];
  }
}

// Names and messages come from anywhere; what is written of them is UTF-8.
TEST_F(CommandLine, BytesThatAreNotUtf8AreReplaced) {
  const Finished json = assay({"ops", "relu", "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--json", "-"});
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_THAT(nlohmann::json::parse(json.out)[0].dump(), HasSubstr("not in \xEF\xBF\xBD"));
  const Finished yaml = assay({"ops", "relu", "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--yaml", "-"});
  EXPECT_EQ(yaml.status, 0) << yaml.err;
  EXPECT_THAT(yaml.out, HasSubstr("op: relu"));
  EXPECT_EQ(yaml.out.find('\xff'), std::string::npos);
  const std::string a = file("a\xff.bin"), b = file("b<\xfe.bin");
  std::ofstream(a, std::ios::binary) << std::string(16, '\0');
  std::ofstream(b, std::ios::binary) << std::string(16, '\1');
  const Finished svg = assay({"diff", "raw:f32[4]@" + a, "raw:f32[4]@" + b, "--svg", "-"});
  EXPECT_EQ(svg.status, 1) << svg.err;
  EXPECT_TRUE(svg.out.starts_with("<svg "));
  EXPECT_EQ(svg.out.find_first_of("\xff\xfe"), std::string::npos);
}

}  // namespace
}  // namespace assay
