// What programs do beside calling operators, and how they end, while they are recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "harness/files/case_file.h"
#include "recorded_example.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

// 40 results of 4 MiB, of which the program needs one at a time.
TEST_F(Trace, KeepsNoResultAliveThatTheProgramDrops) {
  std::ofstream(file("drops.py"))
      << "import resource, torch\n"
         "most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
         "x = torch.relu(torch.ones(1 << 20))\n"
         "before = most()\n"
         "for _ in range(40): x = torch.relu(x)\n"
         "raise SystemExit(min(most() - before, 255))\n";
  const Finished f = run_program(ASSAY_PROGRAM, {"record", file("drops.py"), "-o", file("drops.h5")});
  EXPECT_EQ(read_case_file(file("drops.h5")).calls.size(), 41u) << f.err;
  const auto said = f.err.find("ended with ");
  const int mebibytes = said == std::string::npos ? 0 : std::stoi(f.err.substr(said + 11));
  EXPECT_LT(mebibytes, 60) << f.err;
}

// A program that changes its folder, and goes on in two processes, of which the trace is the first one's.
TEST_F(Trace, IsOfTheProgramsFirstProcess) {
  std::ofstream(file("forks.py")) << "import os, torch\n"
                                     "os.chdir('/')\n"
                                     "torch.relu(torch.ones(3))\n"
                                     "child = os.fork()\n"
                                     "torch.relu(torch.ones(4))\n"
                                     "if child: os.waitpid(child, 0); raise SystemExit('that was all')\n";
  const Finished f = run_program(ASSAY_PROGRAM, {"record", file("forks.py"), "-o", file("forks.h5")});
  EXPECT_EQ(f.status, 2);
  EXPECT_THAT(f.err, HasSubstr("that was all"));
  EXPECT_EQ(read_case_file(file("forks.h5")).calls.size(), 2u) << f.err;
}

// What a program may do beside calling operators, and what that does to its trace.
TEST_F(Trace, TakesProgramsAsTheyAre) {
  const auto record = [](const std::string& text) {
    std::ofstream(file("program.py")) << "import os, signal, sys, threading, torch\n" << text;
    fs::remove(file("program.h5"));
    const Finished f = run_program(ASSAY_PROGRAM, {"record", file("program.py"), "-o", file("program.h5")});
    EXPECT_FALSE(fs::exists(file("program.h5.part"))) << text;
    return f;
  };
  const auto calls = [] { return read_case_file(file("program.h5")).calls.size(); };

  const Finished meta = record(
      "torch.relu(torch.ones(3))\n"
      "torch.relu(torch.ones(3, device='meta'))\n"
      "torch.nn.Linear(2, 3, device='meta')(torch.ones(4, 2, device='meta'))\n");
  EXPECT_EQ(meta.status, 0) << meta.err;
  EXPECT_THAT(
      meta.err,
      HasSubstr("2 not recorded: tensors without numbers of their own, such as those on the device meta."));
  EXPECT_EQ(calls(), 1u);

  const Finished threads = record(
      "from concurrent.futures import ThreadPoolExecutor\n"
      "late = threading.Thread(target=lambda: (late_start.wait(), torch.relu(torch.ones(2))))\n"
      "late_start = threading.Event()\n"
      "late.start()\n"
      "model = torch.nn.PReLU()\n"
      "with ThreadPoolExecutor(2) as pool: list(pool.map(lambda x: model(x), [torch.ones(n) for n in range(1, 9)]))\n"
      "threading.Timer(0.2, late_start.set).start()\n");
  EXPECT_EQ(threads.status, 0) << threads.err;
  EXPECT_EQ(calls(), 9u);
  EXPECT_THAT(read_case_file(file("program.h5")).calls[0].notes.at("source"), HasSubstr("program.py:7"));

  const struct {
    const char* text;
    int status;
    bool kept;
    const char* says;
  } kEnds[] = {
      {"os._exit(0)", 0, true, "1 call"},
      {"os._exit(3)", 2, true, "ended with 3; the trace has what it did before"},
      {"os.abort()", 2, false, "ended with 134 (signal 6) and took the trace with it"},
      {"os.kill(os.getpid(), signal.SIGINT)", 130, true, "was interrupted; the trace has what it did before"},
      {"os.kill(os.getpid(), signal.SIGTERM)", 130, true,
       "was interrupted; the trace has what it did before"},
      {"os.kill(os.getpid(), signal.SIGHUP)", 130, true, "was interrupted; the trace has what it did before"},
      {"signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); os.kill(os.getpid(), signal.SIGTERM)", 0, true,
       "1 call"},
      {"signal.signal(signal.SIGTERM, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGTERM)", 2, false,
       "took the trace with it"},
      {"signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)", 130, false,
       "took the trace with it"},
      {"sys.exit(0)", 0, true, "1 call"},
  };
  for (const auto& [text, status, kept, says] : kEnds) {
    const Finished f = record("torch.relu(torch.ones(3))\n" + std::string(text) + "\n");
    EXPECT_EQ(f.status, status) << text << f.err;
    EXPECT_EQ(fs::exists(file("program.h5")), kept) << text;
    EXPECT_THAT(f.err, HasSubstr(says)) << text;
  }

  const Finished nothing = record("");
  EXPECT_EQ(nothing.status, 0);
  EXPECT_THAT(nothing.err, HasSubstr("Nothing was recorded: the program called no operator that Assay has"));
  EXPECT_EQ(calls(), 0u);
  run_engine({});
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"diagnose", file("program.h5")},
        std::vector<std::string>{"replay", file("program.h5")},
        std::vector<std::string>{"bisect", file("program.h5"), file("dump.npz")}}) {
    const Finished f = run_program(ASSAY_PROGRAM, command);
    EXPECT_EQ(f.status, 2) << command[0];
    EXPECT_THAT(f.err, HasSubstr("has no calls")) << command[0];
  }
}

// A tensor that PyTorch hands to a mode cannot become one of another class.
TEST_F(Trace, TensorsBecomeThoseOfASubclass) {
  write_file(file("classes.py"),
             "import torch\n"
             "class T(torch.Tensor): pass\n"
             "x = torch.randn(3)\n"
             "made = [x.as_subclass(T), T(x), T([1.0, 2.0]), torch.Tensor(x), torch.Tensor(T(x))]\n"
             "assert [type(m).__name__ for m in made] == ['T', 'T', 'T', 'Tensor', 'Tensor']\n"
             "assert type(torch.relu(made[0])) is T\n");
  const Finished f = run_program(ASSAY_PROGRAM, {"record", file("classes.py"), "-o", file("classes.h5")});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(read_case_file(file("classes.h5")).calls.size(), 1u);
}

// Where the disk is full, or files may be no larger: no trace, and no fault of the program's.
TEST_F(Trace, AFileThatCannotBeWrittenIsSaidAndNoTrace) {
  for (const char* loop :
       {"range(40): torch.relu(torch.randn(100000))", "range(4): torch.relu(torch.randn(1 << 20))",
        "range(9000): torch.relu(torch.randn(100))"}) {
    write_file(file("large.py"),
               "import torch\nprint('begun')\nfor _ in " + std::string(loop) + "\nprint('ended')\n");
    const Finished f = run_program("/bin/bash", {"-c", "ulimit -f 2000; exec \"$0\" record \"$1\" -o \"$2\"",
                                                 ASSAY_PROGRAM, file("large.py"), file("large.h5")});
    EXPECT_EQ(f.status, 2) << loop;
    EXPECT_EQ(f.out, "begun\nended\n") << f.err;
    EXPECT_EQ(f.err, "assay: cannot write " + file("large.h5") + ": File too large\n");
    EXPECT_FALSE(fs::exists(file("large.h5")) || fs::exists(file("large.h5.part"))) << loop;
  }
}

// A signal to `assay record` alone, as a script or a scheduler sends it, reaches the program.
TEST_F(Trace, ASignalToItAloneEndsTheProgram) {
  write_file(
      file("waits.py"),
      "import sys, time, torch\ntorch.relu(torch.ones(3))\nopen(sys.argv[1], 'w').close()\ntime.sleep(60)\n");
  const std::string program =
      "import os, subprocess, sys, time\n"
      "p = subprocess.Popen([sys.argv[1], 'record', sys.argv[2], '-o', sys.argv[3], '--', sys.argv[4]])\n"
      "while not os.path.exists(sys.argv[4]) and p.poll() is None: time.sleep(0.02)\n"
      "begin = time.monotonic()\n"
      "p.send_signal(int(sys.argv[5]))\n"
      "code = p.wait()\n"
      "sys.exit(code if time.monotonic() - begin < 30 else 99)\n";
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    fs::remove(file("begun"));
    fs::remove(file("waits.h5"));
    const Finished f =
        run_program("/usr/bin/python3", {"-c", program, ASSAY_PROGRAM, file("waits.py"), file("waits.h5"),
                                         file("begun"), std::to_string(number)});
    EXPECT_EQ(f.status, 130) << number << f.err;
    ASSERT_TRUE(fs::exists(file("waits.h5"))) << number << f.err;
    EXPECT_EQ(read_case_file(file("waits.h5")).calls.size(), 1u);
    EXPECT_FALSE(fs::exists(file("waits.h5.part")));
  }
}

}  // namespace
}  // namespace assay
