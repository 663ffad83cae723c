// Kernels that end, hang or spoil their process, and what that costs the others.
#include "run_fixture.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "harness/run/describe.h"
#include "test/effort.h"

namespace assay {
namespace {

using testing::HasSubstr;

class RunCrash : public RunTest {};

TEST_F(RunCrash, EveryWayToDieIsNamed) {
  const Call call = twice_call({2, 3});
  const std::pair<const char*, const char*> deaths[] = {
      {"null pointer", "read address 0x0, a null pointer"},
      {"wild pointer", "misaligned vector access, or an address that no memory can have"},
      {"misaligned", "misaligned vector access"},
      {"divide by zero", "integer division by zero"},
      {"illegal instruction", "SIGILL"},
      {"abort", "aborted (SIGABRT)"},
      {"overflow stack", "stack overflow"},
      {"exit", "called exit(0)"},
      {"_exit", "_exit(5)"},
      {"killed by itself", "SIGKILL"},
  };
  for (const auto& [name, sentence] : deaths) {
    SCOPED_TRACE(name);
    expect_crashed(run(name, call), sentence);
    expect_twice(run("twice", call), call);
  }
}

TEST_F(RunCrash, SaysWhatTheKernelPrintedLast) {
  EXPECT_THAT(run("abort", twice_call({1})).detail, HasSubstr("it printed: the sky is falling"));
}

TEST_F(RunCrash, SaysWhereItWas) {
  EXPECT_THAT(run("null pointer", twice_call({1})).detail, HasSubstr("at run_test_worker+0x"));
}

TEST_F(RunCrash, HangEndsAfterTheTimeLimit) {
  options_.time_limit = std::chrono::milliseconds(50);
  const Call call = twice_call({2, 3});
  expect_twice(run("twice", call), call);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run("hang", call);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(outcome.kind, Outcome::Kind::timeout);
  EXPECT_THAT(outcome.detail, HasSubstr("did not return within 0.05 s, in run A"));
  EXPECT_GE(took, std::chrono::milliseconds(50));
  EXPECT_LT(took, std::chrono::milliseconds(1000));
  expect_twice(run("twice", call), call);
}

TEST_F(RunCrash, HangEndsWhateverItOverwrites) {
  options_.time_limit = std::chrono::milliseconds(50);
  const Call call = twice_call({2, 3});
  EXPECT_EQ(run("rings for ever", call).kind, Outcome::Kind::timeout);
  options_.time_limit = std::chrono::seconds(10);
  lane_.reset();
  expect_twice(run("overwrites the count", call), call);
  expect_twice(run("twice", call), call);
}

TEST_F(RunCrash, ExceptionsRefusalsAndCodes) {
  const Call call = twice_call({2, 3});
  Outcome outcome = run("throws", call);
  EXPECT_EQ(outcome.kind, Outcome::Kind::failed);
  EXPECT_THAT(outcome.detail, HasSubstr("std::runtime_error: no such thing"));
  outcome = run("throws number", call);
  EXPECT_EQ(outcome.kind, Outcome::Kind::failed);
  EXPECT_THAT(outcome.detail, HasSubstr("int"));
  outcome = run("refuses", call);
  EXPECT_EQ(outcome.kind, Outcome::Kind::refused);
  EXPECT_EQ(outcome.detail, "only on Sundays");
  EXPECT_FALSE(outcome.declared);
  outcome = run("refuses beforehand", call);
  EXPECT_EQ(outcome.kind, Outcome::Kind::refused);
  EXPECT_EQ(outcome.detail, "never");
  EXPECT_TRUE(outcome.declared);
  outcome = run("returns 3", call);
  EXPECT_EQ(outcome.kind, Outcome::Kind::failed);
  EXPECT_EQ(outcome.detail, "returned 3");
}

TEST_F(RunCrash, WhatAKernelRefusesDependsOnNoNumbers) {
  const Call call = twice_call({2, 3});
  Outcome outcome = run("refuses negative", call);
  EXPECT_EQ(outcome.kind, Outcome::Kind::memory);
  EXPECT_THAT(outcome.detail, HasSubstr("its `refuses` read its input `self`"));
  outcome = run("refuses after writing", call);
  EXPECT_EQ(outcome.kind, Outcome::Kind::memory);
  EXPECT_THAT(outcome.detail, HasSubstr("its `refuses` wrote to its output `out`"));
  // Of a kernel that is not asked, nothing of the one before is said.
  EXPECT_THAT(run("read 1 past", call).detail, HasSubstr("read 1 byte past the end"));
  expect_twice(run("twice", call), call);
}

TEST_F(RunCrash, FloatStateIsReportedAndRestored) {
  const Call call = twice_call({2, 3});
  const Outcome changed = run("flush to zero", call);
  expect_twice(changed, call);
  EXPECT_TRUE(changed.changed_float_state);
  const Outcome next = run("twice", call);
  EXPECT_FALSE(next.changed_float_state);
  // A subnormal survives in the same worker.
  Call tiny = twice_call({1});
  self_of(tiny).set(0, 1e-40);
  expect_twice(run("twice", tiny), tiny);
  // Whatever a library does to the state when it is loaded, kernels are called with the standard one.
  const Outcome after_loading = run(kernel("twice", {}, {"--flush"}), tiny);
  expect_twice(after_loading, tiny);
  EXPECT_FALSE(after_loading.changed_float_state);
}

TEST_F(RunCrash, BothRunsComeBack) {
  const Outcome outcome = run("counts calls", twice_call({2}));
  ASSERT_EQ(outcome.kind, Outcome::Kind::ok);
  EXPECT_EQ(floats(outcome.outputs[0]), (std::vector<float>{1, 1}));
  EXPECT_EQ(floats(outcome.second()[0]), (std::vector<float>{2, 2}));
}

TEST_F(RunCrash, OthersOfTheBatchAreUnharmed) {
  const Kernel& k = kernel("crash if negative");
  std::vector<Call> calls;
  for (int i = 0; i < 200; ++i) {
    calls.push_back(twice_call({i % 40 + 1}));
    if (i == 50 || i == 51 || i == 199) self_of(calls.back()).set(0, -1);
  }
  std::vector<Task> tasks;
  for (const Call& call : calls) tasks.push_back({&k, &call});
  const std::vector<Outcome> outcomes = lane().run(tasks);
  ASSERT_EQ(outcomes.size(), calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    if (i == 50 || i == 51 || i == 199)
      expect_crashed(outcomes[i], "null pointer");
    else
      expect_twice(outcomes[i], calls[i]);
  }
}

TEST_F(RunCrash, OthersOfAHangingBatchAreUnharmed) {
  options_.time_limit = std::chrono::milliseconds(50);
  const Kernel& k = kernel("hang if negative");
  std::vector<Call> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(twice_call({3}));
  self_of(calls[7]).set(0, -1);
  std::vector<Task> tasks;
  for (const Call& call : calls) tasks.push_back({&k, &call});
  const std::vector<Outcome> outcomes = lane().run(tasks);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i == 7)
      EXPECT_EQ(outcomes[i].kind, Outcome::Kind::timeout);
    else
      expect_twice(outcomes[i], calls[i]);
  }
}

TEST_F(RunCrash, ACrashAfterOtherCallsIsConfirmedAlone) {
  const Call call = twice_call({3});
  const Kernel& vandal = kernel("damages process");
  const Kernel& victim = kernel("crashes if damaged");
  const Task tasks[] = {{&vandal, &call}, {&victim, &call}, {&victim, &call}};
  const std::vector<Outcome> outcomes = lane().run(tasks);
  expect_crashed(outcomes[0],
                 "damaged its process: test.crashes if damaged, called after it, segmentation fault");
  expect_twice(outcomes[1], call);
  expect_twice(outcomes[2], call);
}

// Each of them does it.
TEST_F(RunCrash, ACrashAfterEachOfTwoIsTheFaultOfBoth) {
  const Call call = twice_call({3});
  const Task tasks[] = {{&kernel("damages process"), &call},
                        {&kernel("twice"), &call},
                        {&kernel("damages process, too"), &call},
                        {&kernel("crashes if damaged"), &call}};
  const std::vector<Outcome> outcomes = lane().run(tasks);
  expect_crashed(outcomes[0],
                 "damaged its process: test.crashes if damaged, called after it, segmentation fault");
  expect_twice(outcomes[1], call);
  expect_crashed(outcomes[2],
                 "damaged its process: test.crashes if damaged, called after it, segmentation fault");
  expect_twice(outcomes[3], call);
}

// Where a call that is nobody's brings it about, too, it is the fault of the one that crashes.
TEST_F(RunCrash, ACrashAfterWhateverRanBeforeIsItsOwn) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer gives each call another stack, or clears it";
  const Call call = twice_call({3});
  const Task tasks[] = {{&kernel("uses the stack"), &call},
                        {&kernel("uses the stack, too"), &call},
                        {&kernel("crashes on a used stack"), &call}};
  const std::vector<Outcome> outcomes = lane().run(tasks);
  expect_twice(outcomes[0], call);
  expect_twice(outcomes[1], call);
  expect_crashed(outcomes[2], "after a call that does no more than any kernel may");
}

TEST_F(RunCrash, AHarmlessCallWritesItsOutputs) {
  const Call call = twice_call({2, 3});
  const Task task{.kernel = &kernel("twice"), .call = &call, .harmless = true};
  const Outcome outcome = lane().run({&task, 1})[0];
  ASSERT_EQ(outcome.kind, Outcome::Kind::ok) << outcome.detail;
  EXPECT_EQ(floats(outcome.outputs[0]), std::vector<float>(6));
  EXPECT_FALSE(outcome.again);
}

// Later calls would find nothing where their output is to go.
TEST_F(RunCrash, MemoryThatIsTakenAwayIsMissedAtOnce) {
  const Call call = twice_call({3});
  expect_memory(run("unmaps its output", call), "took away memory of its output");
  expect_twice(run("twice", call), call);
}

TEST_F(RunCrash, AKernelThatKillsItsProcessOnceHasCrashed) {
  const std::string mark = testing::TempDir() + "run_test_mark" + std::to_string(getpid());
  std::filesystem::remove(mark);
  const Call call = twice_call({3});
  expect_crashed(run(kernel("killed once", {"RUN_TEST_MARK=" + mark}), call),
                 "sent SIGKILL to its own process");
  EXPECT_TRUE(std::filesystem::exists(mark));
  std::filesystem::remove(mark);
}

TEST_F(RunCrash, AProcessThatCannotMapItsBuffersIsReplaced) {
  const Call small = twice_call({3});
  const Call large = twice_call({100'000});
  const Kernel& selfish = kernel("exhausts mappings later");
  const Kernel& good = kernel("twice");
  const Task tasks[] = {{&selfish, &small}, {&good, &large}};
  const std::vector<Outcome> outcomes = lane().run(tasks);
  expect_twice(outcomes[0], small);
  expect_twice(outcomes[1], large);
  expect_crashed(run("exhausts mappings", small), "without room for run B");
}

TEST_F(RunCrash, TwoEnvironmentsAtOnce) {
  const Call call = twice_call({3});
  const Kernel& one = kernel("reports environment", {"RUN_TEST_VALUE=1"});
  const Kernel& two = kernel("reports environment", {"RUN_TEST_VALUE=2", "OMP_NUM_THREADS=3"});
  const Kernel& none = kernel("reports environment");
  std::vector<Task> tasks;
  for (int i = 0; i < 30; ++i) {
    tasks.push_back({&one, &call});
    tasks.push_back({&two, &call});
    tasks.push_back({&none, &call});
  }
  const std::vector<Outcome> outcomes = lane().run(tasks);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    ASSERT_EQ(outcomes[i].kind, Outcome::Kind::ok) << outcomes[i].detail;
    const float expected[] = {1, 2, -1};
    EXPECT_EQ(floats(outcomes[i].outputs[0])[0], expected[i % 3]);
    EXPECT_EQ(outcomes[i].information,
              i % 3 == 1 ? "threads 3, waiting passive" : "threads 1, waiting passive");
  }
}

TEST_F(RunCrash, ManyLanesShareZygotes) {
  const Kernel& k = kernel("crash if negative");
  std::vector<std::future<int>> lanes;
  for (int t = 0; t < 4; ++t)
    lanes.push_back(std::async(std::launch::async, [&, t] {
      Lane mine(zygotes_, options_);
      int right = 0;
      for (int round = 0; round < 20; ++round) {
        std::vector<Call> calls;
        for (int i = 0; i < 20; ++i) calls.push_back(twice_call({i + t + 1}));
        self_of(calls[static_cast<std::size_t>(round)]).set(0, -1);
        std::vector<Task> tasks;
        for (const Call& call : calls) tasks.push_back({&k, &call});
        const std::vector<Outcome> outcomes = mine.run(tasks);
        for (int i = 0; i < 20; ++i)
          right += outcomes[static_cast<std::size_t>(i)].kind ==
                   (i == round ? Outcome::Kind::crashed : Outcome::Kind::ok);
      }
      return right;
    }));
  for (std::future<int>& l : lanes) EXPECT_EQ(l.get(), 400);
}

// What had run when the lane gave up counts; the call that hung and those after it did not run.
TEST_F(RunCrash, GivingUpEndsTheWait) {
  const auto start = std::chrono::steady_clock::now();
  std::atomic<bool> over{false};
  options_.give_up = [&](auto waited) { return over || waited > std::chrono::milliseconds(300); };
  const Call call = twice_call({3});
  const Kernel& good = kernel("twice");
  const Kernel& hang = kernel("hang");
  const Task tasks[] = {{&good, &call}, {&hang, &call}, {&good, &call}};
  std::vector<Outcome> outcomes = lane().run(tasks);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  expect_twice(outcomes[0], call);
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_EQ(outcomes[i].kind, Outcome::Kind::not_run);
    EXPECT_TRUE(outcomes[i].stopped);
  }
  expect_twice(run(good, call), call);  // the lane goes on
  over = true;
  EXPECT_TRUE(lane().run({tasks, 1})[0].stopped);
}

TEST_F(RunCrash, WhatCannotStartIsNotRun) {
  const Call call = twice_call({3});
  Kernel k = kernel("twice");
  k.environment.program = "/nonexistent/worker";
  Outcome outcome = run(k, call);
  EXPECT_EQ(outcome.kind, Outcome::Kind::not_run);
  EXPECT_FALSE(outcome.by_kernels);
  EXPECT_THAT(outcome.detail, HasSubstr("cannot start the worker program /nonexistent/worker: No such file"));
  k.environment.program = "/bin/true";
  EXPECT_THAT(run(k, call).detail, HasSubstr("ended with exit status 0 while it loaded its kernels"));

  const std::pair<const char*, const char*> loads[] = {
      {"--fail", "no kernels today"},
      {"--crash", "--crash crashed (signal 11, Segmentation fault) while it was loaded"},
      {"--exit", "called exit(0) while it was loaded"}};
  for (const auto& [argument, sentence] : loads) {
    outcome = run(kernel("twice", {}, {argument}), call);
    EXPECT_EQ(outcome.kind, Outcome::Kind::not_run);
    EXPECT_TRUE(outcome.by_kernels);
    EXPECT_THAT(outcome.detail, HasSubstr(sentence));
  }
  EXPECT_THAT(run(kernel("unheard of"), call).detail, HasSubstr("has no kernel `unheard of`"));
  Kernel absent = kernel("twice");
  absent.unavailable = "needs a quantum computer";
  EXPECT_EQ(run(absent, call).detail, "needs a quantum computer");
}

// What it shares with the harness is sealed: else the harness would end by SIGBUS.
TEST_F(RunCrash, FilesCannotBeShrunk) {
  const Call call = twice_call({2, 3});
  run("shrinks files", call);
  expect_twice(run("twice", call), call);
}

TEST_F(RunCrash, WhatItScribblesIsNoExcuse) {
  const Call call = twice_call({2, 3});
  const Outcome outcome = run("scribbles", call);
  EXPECT_TRUE(outcome.kind == Outcome::Kind::crashed || outcome.kind == Outcome::Kind::memory)
      << outcome.detail;
  EXPECT_LT(outcome.detail.size(), 1000u);
  expect_twice(run("twice", call), call);
  // In one batch with others, too.
  const Task tasks[] = {{&kernel("twice"), &call}, {&kernel("scribbles"), &call}, {&kernel("twice"), &call}};
  const std::vector<Outcome> outcomes = lane().run(tasks);
  expect_twice(outcomes[0], call);
  EXPECT_EQ(outcomes[1].kind, outcome.kind) << outcomes[1].detail;
  expect_twice(outcomes[2], call);
}

TEST_F(RunCrash, PostTwiceIsAnError) {
  const Call call = twice_call({3});
  const Task task{&kernel("twice"), &call};
  lane().post({&task, 1});
  EXPECT_THROW(lane().post({&task, 1}), std::logic_error);
  EXPECT_EQ(lane().collect().size(), 1u);
  EXPECT_TRUE(lane().run({}).empty());
}

}  // namespace
}  // namespace assay
