// Shared libraries of kernels: what they list, how they run, and how bad ones are turned down.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>

#include "../plugin/load.h"
#include "../registry/subprocess.h"
#include "../run/describe.h"
#include "run_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::string plugin(const std::string& name) {
  return std::string(ASSAY_RUN_TEST_PLUGINS) + "/run_test_plugin_" + name + ".so";
}

Finished list(const std::string& library) {
  return run_program(run_test_worker(), {"worker", "--list", "--plugin", library});
}

class RunPlugin : public RunTest {};

// As a list that does not come: the program is ended, and what it printed until then is there.
TEST_F(RunPlugin, AProgramThatDoesNotEndIsNotWaitedForForEver) {
  const Finished f = run_program("/bin/sh", {"-c", "echo begun; exec sleep 60"}, {}, std::chrono::seconds(1));
  EXPECT_TRUE(f.late);
  EXPECT_EQ(f.status, 128 + SIGKILL);
  EXPECT_EQ(f.out, "begun\n");
  EXPECT_FALSE(run_program("/bin/true", {}, {}, std::chrono::seconds(60)).late);
}

TEST_F(RunPlugin, ListsWhatTheTableSays) {
  const Finished listed = list(plugin("GOOD"));
  ASSERT_EQ(listed.status, 0) << listed.err;
  const std::vector<DescribedKernel> kernels = parse_description(listed.out);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].schema, "twice(Tensor self) -> Tensor");
  EXPECT_EQ(kernels[0].name, "twice");
  EXPECT_EQ(kernels[0].contract, "exp=2ulp -- nowhere");
  EXPECT_EQ(kernels[0].source, "run_test_plugin.c:1");
  EXPECT_EQ(kernels[0].environment, "A=1 B=2");
  EXPECT_EQ(kernels[0].unavailable, "");
  EXPECT_EQ(kernels[0].flags, 0u);
  EXPECT_EQ(kernels[0].plugin, "mine");
  EXPECT_EQ(kernels[0].version, "1.5");
  EXPECT_EQ(kernels[1].unavailable, "needs a better machine");
  EXPECT_EQ(kernels[1].flags, std::uint32_t{ASSAY_PEER});
  EXPECT_EQ(kernels[2].name, "");
}

TEST_F(RunPlugin, RunsItsKernels) {
  const Call call = twice_call({5}, {Layout::Kind::step2, {}});
  // LONGER has entries with a field that this Assay does not know.
  for (const char* name : {"GOOD", "LONGER"})
    for (const char* k : {"twice", "other", ""})
      expect_twice(run(kernel(k, {}, {"--plugin", plugin(name)}), call), call);
}

TEST_F(RunPlugin, BadOnesAreTurnedDownInPlainWords) {
  const std::pair<const char*, const char*> bad[] = {
      {"NO_SYMBOL", "exports no function assay_plugin_v1"},
      {"NULL_TABLE", "returned NULL"},
      {"OTHER_ABI", "version 7 of the kernel ABI; this Assay speaks version 1"},
      {"SHORT_KERNELS", "says that a kernel has 16 bytes"},
      {"NO_KERNELS", "has no kernels"},
      {"NULL_KERNELS", "their table is NULL"},
      {"NULL_SCHEMA", "kernel 0 has no schema"},
      {"NULL_RUN", "kernel 0 (twice(Tensor self) -> Tensor) has no function `run`"},
      {"NO_SIZE", "set .size = sizeof(assay_kernel)"},
      {"SAME_NAMES", "has the name of an earlier one"},
      {"NOT_UTF8", "has a schema or a name that is not UTF-8"},
      {"CRASHES", "crashed (signal 11, Segmentation fault) while it was loaded"},
      {"EXITS", "called exit(0) while it was loaded"},
      {"UNDEFINED", "nowhere_to_be_found"},
  };
  const Call call = twice_call({5});
  for (const auto& [name, sentence] : bad) {
    SCOPED_TRACE(name);
    const Finished listed = list(plugin(name));
    EXPECT_EQ(listed.status, 1);
    EXPECT_EQ(listed.out, "");
    EXPECT_THAT(listed.err, HasSubstr(plugin(name)));
    EXPECT_THAT(listed.err, HasSubstr(sentence));
    const Outcome outcome = run(kernel("twice", {}, {"--plugin", plugin(name)}), call);
    EXPECT_EQ(outcome.kind, Outcome::Kind::not_run);
    EXPECT_THAT(outcome.detail, HasSubstr(sentence));
  }
}

TEST_F(RunPlugin, OnesThatHangAreTurnedDownInTime) {
  const std::pair<const char*, const char*> hanging[] = {
      {"HANGS", "assay_plugin_v1() did not return within 10 s"},
      {"HANGS_UNAVAILABLE",
       "unavailable() of the kernel other for twice(Tensor self) -> Tensor did not return"}};
  std::vector<std::future<Finished>> listed;
  for (const auto& hang : hanging) listed.push_back(std::async(std::launch::async, list, plugin(hang.first)));
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const Finished f = listed[i].get();
    EXPECT_EQ(f.status, 1);
    EXPECT_THAT(f.err, HasSubstr(plugin(hanging[i].first) + ": " + hanging[i].second));
  }
  const Outcome outcome = run(kernel("twice", {}, {"--plugin", plugin("HANGS")}), twice_call({5}));
  EXPECT_EQ(outcome.kind, Outcome::Kind::not_run);
  EXPECT_THAT(outcome.detail, HasSubstr(hanging[0].second));
}

TEST_F(RunPlugin, FilesThatAreNoLibraries) {
  const std::string text = testing::TempDir() + "run_plugin_test_text.so";
  std::ofstream(text) << "not a library\n";
  EXPECT_THAT(list(text).err, HasSubstr(text + ": is not a shared library; build one with cc -shared -fPIC"));
  EXPECT_THAT(list("/nonexistent.so").err, HasSubstr("/nonexistent.so: there is no such file"));
  EXPECT_THAT(list("/tmp").err, HasSubstr("is not a file"));
  EXPECT_THAT(list(run_test_worker()).err, HasSubstr("cannot be loaded"));
  std::ofstream(text) << "\177ELF";
  EXPECT_THAT(list(text).err, HasSubstr("cannot be loaded"));
  std::filesystem::remove(text);
}

TEST(PluginTable, VariablesAreOfTheFormNameValue) {
  const auto error = [](const char* environment) -> std::string {
    assay_kernel k{};
    k.size = sizeof(k);
    k.schema = "twice(Tensor self) -> Tensor";
    k.name = "mine";
    k.run = [](const assay_call*) { return static_cast<int>(ASSAY_OK); };
    k.environment = environment;
    assay_plugin plugin{};
    plugin.abi_version = ASSAY_ABI_VERSION;
    plugin.kernel_size = sizeof(k);
    plugin.kernel_count = 1;
    plugin.kernels = &k;
    try {
      read_plugin_table(&plugin, "mine.so");
    } catch (const PluginError& e) {
      return e.what();
    }
    return "";
  };
  for (const char* well : {"", " ", "A=1", " A=1  B= ", "A=B=C"}) EXPECT_EQ(error(well), "") << well;
  EXPECT_EQ(
      error("A=1 FOO"),
      "mine.so: kernel 0 (twice(Tensor self) -> Tensor) mine has \"FOO\" in its .environment: write NAME=VALUE, and "
      "spaces between several");
  EXPECT_THAT(error("=x"), HasSubstr("mine has \"=x\" in its .environment"));
}

TEST(Description, RefusesWhatIsNone) {
  const auto error = [](std::string_view json) -> std::string {
    try {
      parse_description(json);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error(""), HasSubstr("printed nothing"));
  EXPECT_THAT(error("{"), HasSubstr("not what it should be"));
  EXPECT_THAT(error(R"({"format": "assay.kernels/9"})"), HasSubstr("assay.kernels/9"));
  EXPECT_THAT(error(R"({"format": "assay.kernels/1", "plugin": "", "version": "", "kernels": [{}]})"),
              HasSubstr("schema"));
}

TEST(Description, KeepsBytesThatAreNotUtf8Readable) {
  WorkerTable table;
  assay_kernel k{};
  k.schema = "twice(Tensor self) -> Tensor";
  k.name = "\xff\"\\";
  table.kernels.push_back(k);
  EXPECT_EQ(parse_description(description(table))[0].name, "\xEF\xBF\xBD\"\\");
}

}  // namespace
}  // namespace assay
