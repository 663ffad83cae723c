// `assay bench` on kernels that run on a device, by the clock of one for tests and, where nvcc is, of a stand-in for a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/registry/parts.h"
#include "harness/registry/subprocess.h"
#include "reports/bench_file.h"
#include "reports/file.h"
#include "reports/svg_roofline.h"
#include "test/effort.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kDevicePlugin = std::string(ASSAY_RUN_TEST_PLUGINS) + "/bench_device_plugin.so";

Finished bench_device(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"bench", "--rounds", "9", "--json", "-"});
  return run_program(ASSAY_PROGRAM, arguments);
}

// By a library that was built to be wrong in one way.
Finished bench_variant(const std::string& variant) {
  return bench_device({"--case", "relu:f32:self=1000", "--plugin",
                       std::string(ASSAY_RUN_TEST_PLUGINS) + "/bench_device_plugin_" + variant + ".so",
                       "--impl", "plugin:good"});
}

std::map<std::string, json> device_rows(const Finished& f) {
  const json run = json::parse(f.out);
  std::map<std::string, json> all;
  for (const json& b : run["benchmarks"])
    all[b["assay"]["impl"].get<std::string>() + " " + b["assay"]["cache"].get<std::string>()] = b["assay"];
  return all;
}

// Without a GPU nothing else would miss the library of its kernels.
TEST(BenchDevice, TheLibrariesOfAllOurKernelsAreWhereTheyAreLookedFor) {
  if (kSanitized) GTEST_SKIP() << "asking all kernels takes a minute";
  const Finished listed = run_program(ASSAY_PROGRAM, {"ops", "--json", "-"});
  ASSERT_EQ(listed.status, 0) << listed.err;
  std::set<std::string> libraries;
  for (const json& op : json::parse(listed.out))
    for (const json& k : op["kernels"]) {
      const auto impl = k["impl"].get<std::string>();
      if (impl.starts_with("torch") || impl == "cuda.emulated" || impl == "cuda.ptx") continue;
      if (k["unavailable"].get<std::string>().find("this build") != std::string::npos)
        continue;  // without nvcc
      libraries.insert(k["on_device"] ? "cuda" : impl.substr(0, impl.find('.')));
    }
  EXPECT_TRUE(libraries.contains("cpu"));
  for (const std::string& which : libraries)
    EXPECT_TRUE(std::filesystem::exists(kernel_library(ASSAY_PROGRAM, which))) << which;
}

TEST(BenchDevice, KernelsAreTimedByItsClockAndHeldAgainstItsLimits) {
  const Finished f = bench_device({"--case", "relu:f32:self=1000", "--plugin", kDevicePlugin, "--impl",
                                   "plugin:good,cpu.baseline", "--cache", "warm,l2,dram"});
  ASSERT_EQ(f.status, 0) << f.err;
  const std::map<std::string, json> all = device_rows(f);
  EXPECT_EQ(all.at("plugin:good l2")["status"], "not_run");
  EXPECT_THAT(all.at("plugin:good l2")["reason"].get<std::string>(), HasSubstr("a GPU has one cache"));
  EXPECT_EQ(all.at("cpu.baseline l2")["status"], "measured");
  for (const char* cache : {"warm", "dram"}) {
    const json& row = all.at(std::string("plugin:good ") + cache);
    EXPECT_EQ(row["status"], "measured") << row;
    EXPECT_EQ(row["device"], "a device for tests");
    EXPECT_EQ(row["clock"], "device");
    EXPECT_EQ(row["contention"], 1);
    EXPECT_EQ(row["ns"]["median"], 1000);
    // 8,000 bytes at 16 bytes a nanosecond, and their start.
    EXPECT_EQ(row["limit"]["ns"], 600);
    EXPECT_EQ(row["limit"]["share"], 0.6);
    EXPECT_EQ(row["limit"]["binds"], "memory DRAM");  // they do not fit its cache
    const json& beside = all.at(std::string("cpu.baseline ") + cache);
    EXPECT_FALSE(beside.contains("device"));
    EXPECT_EQ(beside["clock"], "cpu");
  }
  const json run = json::parse(f.out);
  std::map<std::string, double> limits;
  for (const json& limit : run["context"]["assay"]["limits"])
    if (limit.value("device", "") == "a device for tests") limits[limit["name"]] = limit["value"];
  // The start is no part of what the cache gives.
  EXPECT_NEAR(limits.at("read L2"), 16e9, 1e3);
  EXPECT_NEAR(limits.at("copy L2"), 16e9, 1e3);
  EXPECT_NEAR(limits.at("copy DRAM"), 16e9, 0.1e9);
  EXPECT_EQ(limits.at("FMA f32"), 1e12);
}

TEST(BenchDevice, SmallOperandsLieInItsCache) {
  const Finished f =
      bench_device({"--case", "relu:f32:self=100", "--plugin", kDevicePlugin, "--impl", "plugin:good"});
  ASSERT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(device_rows(f).at("plugin:good warm")["limit"]["binds"], "memory L2");
}

// Results are looked at as the timed calls leave them.
TEST(BenchDevice, WhatFailsWhileItIsTimedHasNoTimeAndTheOthersDo) {
  const Finished f =
      bench_device({"--case", "relu:f32:self=1000", "--plugin", kDevicePlugin, "--impl", "plugin:*"});
  EXPECT_EQ(f.status, 1) << f.err;
  EXPECT_EQ(device_rows(f).at("plugin:good warm")["status"], "measured");
  const auto why = [&](const char* kernel) {
    const json row = device_rows(f).at(kernel + std::string(" warm"));
    EXPECT_EQ(row["status"], "failed") << kernel;
    return row["reason"].get<std::string>();
  };
  EXPECT_THAT(why("plugin:stale"), HasSubstr("when it is timed, "));
  EXPECT_EQ(why("plugin:fails"), "when it is timed: an illegal address");
  EXPECT_EQ(why("plugin:tires"), "while it was timed: the device failed and did not say why");
}

// The first two leave results of other data; the third computes in a batch's first call alone.
TEST(BenchDevice, WhatKeepsResultsIsNotMeasured) {
  const Finished f = bench_device({"--case", "relu:f32:self=1000", "--plugin", kDevicePlugin, "--impl",
                                   "plugin:skips,plugin:samples,plugin:compares"});
  EXPECT_EQ(f.status, 1) << f.err;
  const auto why = [&](const char* kernel) {
    const json row = device_rows(f).at(kernel + std::string(" warm"));
    EXPECT_EQ(row["status"], "failed") << kernel;
    return row["reason"].get<std::string>();
  };
  EXPECT_THAT(why("plugin:skips"), HasSubstr("when it is timed with data that change, "));
  EXPECT_THAT(why("plugin:samples"), HasSubstr("when it is timed with data that change, "));
  EXPECT_THAT(why("plugin:compares"),
              HasSubstr("a call takes 40 µs where its data have changed since the one before, and 1 µs"));
}

TEST(BenchDevice, OneWithoutLimitsLeavesTheProcessorItsTimes) {
  const std::string plugin = std::string(ASSAY_RUN_TEST_PLUGINS) + "/bench_device_plugin_no_limits.so";
  const Finished f = bench_device(
      {"--case", "relu:f32:self=1000", "--plugin", plugin, "--impl", "plugin:good,cpu.baseline"});
  EXPECT_EQ(f.status, 3) << f.err;  // --impl names it
  const std::map<std::string, json> all = device_rows(f);
  EXPECT_EQ(all.at("cpu.baseline warm")["status"], "measured");
  EXPECT_EQ(all.at("plugin:good warm")["status"], "not_run");
  EXPECT_EQ(all.at("plugin:good warm")["reason"], "no units for arithmetic");
}

TEST(BenchDevice, ATableThatIsNotWhatItHasToBeIsRefused) {
  const auto said = [](const char* variant) {
    const Finished f = bench_variant(variant);
    EXPECT_EQ(f.status, 2);
    return f.err;
  };
  EXPECT_THAT(said("no_fetch"), HasSubstr("its assay_device_timing lacks a function (it is NULL)"));
  EXPECT_THAT(said("few_calls"), HasSubstr("time() takes at most 1 calls at once; it must take 4"));
}

TEST(BenchDevice, OneThatCannotMeasureIsNoDevice) {
  const auto why = [](const char* variant) {
    const Finished f = bench_variant(variant);
    EXPECT_EQ(f.status, 3) << f.err;
    const json row = device_rows(f).at("plugin:good warm");
    EXPECT_EQ(row["status"], "not_run");
    return row["reason"].get<std::string>();
  };
  EXPECT_EQ(why("unplugged"), "its library has no device: somebody unplugged it");
  EXPECT_EQ(why("stopped"), "the device's clock says that calls of a kernel took 0 ns");
  EXPECT_THAT(why("no_clock"), HasSubstr("has no assay_device_timing_v1"));
}

// Points of a device and of the processor lie under roofs of their own.
TEST(BenchDevice, HasARooflineOfItsOwn) {
  const Finished f = bench_device(
      {"--case", "relu:f32:self=1000", "--plugin", kDevicePlugin, "--impl", "plugin:good,cpu.baseline"});
  const BenchmarkFile file = bench_from_json(f.out, "bench.json");
  const std::string both = roofline_chart(file);
  EXPECT_THAT(both, HasSubstr("operations / second, one core"));
  EXPECT_THAT(both, HasSubstr("operations / second, a device for tests"));
  BenchmarkFile processor = file;
  std::erase_if(processor.rows, [](const BenchRow& row) { return !row.device.empty(); });
  EXPECT_THAT(roofline_chart(processor), Not(HasSubstr("a device for tests")));
}

}  // namespace
}  // namespace assay
