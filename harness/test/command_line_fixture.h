// What the tests of the command line share. ASSAY_PROGRAM is the program's path.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"
#include "test/effort.h"

namespace assay {

class CommandLine : public ::testing::Test {
 protected:
  void SetUp() override {
    // PyTorch takes seconds to load under a sanitizer, in every command; oracle_torch_test runs it.
    if (kSanitized) setenv("ASSAY_TORCH_PYTHON", "/nowhere/python3", 1);
  }

  static Finished assay(const std::vector<std::string>& arguments) {
    return run_program(ASSAY_PROGRAM, arguments);
  }
  // With results in this test's folder.
  Finished verify(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"verify", "--out", file("out")});
    return assay(arguments);
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  // Waits until a run with its results in file("out") has loaded its libraries and caught signals; false if none does.
  bool begun() const {
    for (int i = 0; i < 6000 && !std::filesystem::exists(file("out/run.journal")); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return std::filesystem::exists(file("out/run.journal"));
  }
  static void expect_usage_error(const Finished& f, const std::string& part) {
    EXPECT_EQ(f.status, 2) << f.err;
    EXPECT_THAT(f.err, ::testing::HasSubstr(part));
  }
  // What must not depend on how the work was split.
  static nlohmann::json results(const Finished& f) {
    nlohmann::json run = nlohmann::json::parse(f.out);
    EXPECT_EQ(run["format"], "assay.run/1");
    for (nlohmann::json& row : run["results"])
      for (nlohmann::json& failure : row["failures"]) failure.erase("replay");
    return run["results"];
  }

  TemporaryFolder folder_;
};

}  // namespace assay
