// The example of cases/example/: a PyTorch program that is recorded once for a suite, and an engine that it is compared with.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay {

inline const std::string kExample = std::string(ASSAY_FIXTURES) + "/../example/";

class RecordedExample : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    if (const char* shared = std::getenv("ASSAY_RECORDED_EXAMPLE")) return take(shared);
    const Finished needs = run_program("/usr/bin/python3", {"-c", "import torch, h5py"});
    missing_ = needs.status == 0 ? "" : "needs python3-torch and python3-h5py: " + needs.err;
    if (!missing_.empty()) return;
    recorded_ = run_program(
        ASSAY_PROGRAM, {"record", kExample + "model.py", "-o", file("trace.h5"), "--", file("weights.npz")});
  }
  // What record_example has recorded for all processes.
  static void take(const std::filesystem::path& shared) {
    if (std::filesystem::exists(shared / "missing")) {
      missing_ = "needs python3-torch and python3-h5py: " + read_file(shared / "missing");
      return;
    }
    recorded_.status = std::stoi(read_file(shared / "status"));
    recorded_.err = read_file(shared / "err");
    for (const char* name : {"trace.h5", "weights.npz"})
      if (std::filesystem::exists(shared / name)) std::filesystem::copy_file(shared / name, file(name));
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    if (!missing_.empty()) GTEST_SKIP() << missing_;
    ASSERT_EQ(recorded_.status, 0) << recorded_.err;
  }

  static std::string file(const std::string& name) { return folder_->file(name); }
  static void run_engine(const std::vector<std::string>& faults) {
    std::vector<std::string> arguments{"ASSAY_KERNELS=" ASSAY_CPU_PLUGIN,
                                       "/usr/bin/python3",
                                       "-B",
                                       kExample + "engine.py",
                                       file("weights.npz"),
                                       file("dump.npz")};
    arguments.insert(arguments.end(), faults.begin(), faults.end());
    const Finished f = run_program("/usr/bin/env", arguments);
    ASSERT_EQ(f.status, 0) << f.err;
  }
  // The dump of an engine without a fault, `d` in these lines of Python.
  static void edit_dump(const std::string& lines) {
    run_engine({});
    const Finished f = run_program(
        "/usr/bin/python3",
        {"-c",
         "import numpy, sys\nd = dict(numpy.load(sys.argv[1]))\n" + lines + "\nnumpy.savez(sys.argv[1], **d)",
         file("dump.npz")});
    ASSERT_EQ(f.status, 0) << f.err;
  }
  // Compares a program with what it writes as another engine's: `recording` says which of the two it is to do.
  static Finished bisect_program(const std::string& text, std::vector<std::string> more = {}) {
    write_file(
        file("program.py"),
        "import sys, numpy, torch\nrecording = len(sys.argv) == 1\ndef dump(**d):\n    numpy.savez(sys.argv[1], "
        "**{n: t.detach().numpy() for n, t in d.items()})\n" +
            text);
    const Finished recorded =
        run_program(ASSAY_PROGRAM, {"record", file("program.py"), "-o", file("program.h5")});
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    const Finished dumped = run_program("/usr/bin/python3", {"-B", file("program.py"), file("program.npz")});
    EXPECT_EQ(dumped.status, 0) << dumped.err;
    more.insert(more.begin(), {"bisect", file("program.h5"), file("program.npz"), "--time", "1"});
    return run_program(ASSAY_PROGRAM, more);
  }
  // What that says, as JSON, of a program whose random numbers are the same each time.
  static nlohmann::json json_of(const std::string& program) {
    const Finished f = bisect_program("torch.manual_seed(0)\n" + program, {"--json", "-"});
    nlohmann::json b = nlohmann::json::parse(f.out, nullptr, false);
    EXPECT_TRUE(b.is_object()) << f.err << f.out;
    return b;
  }
  // The first `what` in a program, replaced.
  static std::string with(std::string program, const std::string& what, const std::string& by) {
    const std::size_t at = program.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return program.replace(at, what.size(), by);
  }
  static Finished bisect(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"bisect", file("trace.h5"), file("dump.npz"), "--time", "1"});
    return run_program(ASSAY_PROGRAM, more);
  }
  static nlohmann::json bisected() { return nlohmann::json::parse(bisect({"--json", "-"}).out); }
  static nlohmann::json call(const nlohmann::json& b, const std::string& name) {
    for (const nlohmann::json& c : b["calls"])
      if (c["name"] == name) return c;
    return {};
  }

  static inline std::unique_ptr<TemporaryFolder> folder_;
  static inline std::string missing_;
  static inline Finished recorded_;
};

// Tests of the trace itself, in several files.
class Trace : public RecordedExample {};

}  // namespace assay
