// Processes, files and memory that must not outlive whoever asked for them.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "run_fixture.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

std::string contents(const std::filesystem::path& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();  // no exception of a process that ends meanwhile
  return all.str();
}

// The processes whose command line holds this text.
std::set<pid_t> processes(const std::string& mark) {
  std::set<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (contents(entry.path() / "cmdline").find(mark) != std::string::npos) found.insert(std::stoi(name));
  }
  return found;
}

pid_t parent(pid_t process) {
  const std::string stat = contents("/proc/" + std::to_string(process) + "/stat");
  const std::size_t at = stat.rfind(')');
  return at == std::string::npos ? 0 : std::stoi(stat.substr(at + 4));
}

// True once it holds no file and whoever wanted a signal at its death has got one. Its command line goes earlier.
bool ended(pid_t process) {
  const std::string stat = contents("/proc/" + std::to_string(process) + "/stat");
  const std::size_t at = stat.rfind(')');
  return at == std::string::npos || stat[at + 2] == 'Z';
}

bool soon(const std::function<bool()>& happened) {
  for (int i = 0; i < 1000; ++i) {
    if (happened()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

class RunLife : public RunTest {
 protected:
  RunLife() : mark_("--mark-" + std::to_string(getpid()) + "-" + test_name()) {}
  static std::string test_name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }
  const Kernel& marked(const std::string& name) { return kernel(name, {}, {mark_}); }

  pid_t start_harness(const std::vector<std::string>& worker_arguments) {
    std::vector<std::string> words{run_test_worker(), "harness"};
    words.insert(words.end(), worker_arguments.begin(), worker_arguments.end());
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    pid_t harness = -1;
    EXPECT_EQ(posix_spawn(&harness, argv[0], nullptr, nullptr, argv.data(), environ), 0);
    return harness;
  }

  std::string mark_;
};

TEST_F(RunLife, NothingOutlivesAKilledHarness) {
  const pid_t harness = start_harness({mark_});
  // The harness, its zygote, the worker that hangs, and what its kernel has started.
  ASSERT_TRUE(soon([&] { return processes(mark_).size() == 4; }));
  std::this_thread::sleep_for(50ms);
  kill(harness, SIGKILL);
  waitpid(harness, nullptr, 0);
  EXPECT_TRUE(soon([&] { return processes(mark_).empty(); }));
}

TEST_F(RunLife, NothingOutlivesAHarnessKilledWhileALibraryLoads) {
  const pid_t harness = start_harness({mark_, "--hang"});
  ASSERT_TRUE(soon([&] { return processes(mark_).size() == 2; }));
  std::this_thread::sleep_for(50ms);
  kill(harness, SIGKILL);
  waitpid(harness, nullptr, 0);
  EXPECT_TRUE(soon([&] { return processes(mark_).empty(); }));
}

TEST_F(RunLife, ALaneTakesItsWorkersAlong) {
  const Call call = twice_call({3});
  const Kernel& hang = marked("hang");
  const Kernel& good = marked("twice");
  const Task task{&hang, &call};
  {
    Lane mine(zygotes_, options_);
    mine.post({&task, 1});
    ASSERT_TRUE(soon([&] { return processes(mark_).size() == 2; }));
  }
  EXPECT_EQ(processes(mark_).size(), 1u);  // the zygote waits for the next lane
  expect_twice(run(good, call), call);
  lane_.reset();
  zygotes_.reset();
  EXPECT_TRUE(processes(mark_).empty());
}

TEST_F(RunLife, WhatAKernelStartedEndsWithItsWorker) {
  const Call call = twice_call({3});
  expect_twice(run(marked("forks"), call), call);
  EXPECT_EQ(processes(mark_).size(), 4u);  // the zygote, the worker, and one from each run
  lane_.reset();
  EXPECT_TRUE(soon([&] { return processes(mark_).size() == 1; }));
}

// Of two lanes, because nobody knows whose worker a process was started by that has lost its parent.
TEST_F(RunLife, DaemonsThatKernelsStartedEndWithTheLastWorker) {
  const Call call = twice_call({3});
  const Kernel& starts = marked("starts a daemon");
  const Kernel& good = marked("twice");
  std::optional<Lane> other(std::in_place, zygotes_, options_);
  const Task task{&starts, &call};
  for (const Outcome& o : lane().run({&task, 1})) expect_twice(o, call);
  for (const Outcome& o : other->run({&task, 1})) expect_twice(o, call);
  EXPECT_EQ(processes(mark_).size(), 7u);  // the zygote; twice a worker, and a daemon from each run
  lane_.reset();
  EXPECT_TRUE(soon([&] { return processes(mark_).size() == 6; })) << "daemons may be the other worker's";
  other.reset();
  EXPECT_TRUE(soon([&] { return processes(mark_).size() == 1; }));
  expect_twice(run(good, call), call);
}

// Its child comes back from the kernel as a second worker, which would fork again at the next call.
TEST_F(RunLife, AChildThatReturnsFromItsKernelEnds) {
  const Call call = twice_call({3});
  for (const char* name : {"forks and returns", "forks and returns late"}) {
    SCOPED_TRACE(name);
    const Kernel& forks = marked(name);
    const Kernel& good = marked("twice");
    const Task tasks[] = {{&good, &call}, {&forks, &call}, {&good, &call}};
    const std::vector<Outcome> outcomes = lane().run(tasks);
    expect_twice(outcomes[0], call);
    expect_crashed(outcomes[1], "the kernel forked, and its child returned, in run A");
    expect_twice(outcomes[2], call);
    EXPECT_TRUE(soon([&] { return processes(mark_).size() == 2; }));  // the zygote and a worker
  }
  expect_twice(run(marked("forks and exits"), call), call);
}

TEST_F(RunLife, InterruptsReachTheHarnessAlone) {
  const Call call = twice_call({3});
  const Kernel& sleeps = marked("sleeps");
  const Task task{&sleeps, &call};
  lane().post({&task, 1});
  ASSERT_TRUE(soon([&] { return processes(mark_).size() == 2; }));
  for (const pid_t p : processes(mark_)) {
    EXPECT_NE(getpgid(p), getpgid(0)) << "a terminal would interrupt it";
    kill(p, SIGINT);
  }
  expect_twice(lane().collect().front(), call);
}

TEST_F(RunLife, AKilledZygoteIsReplaced) {
  const Call call = twice_call({3});
  const Kernel& sleeps = marked("sleeps");
  const Kernel& good = marked("twice");
  const auto zygote = [&] {
    for (const pid_t p : processes(mark_))
      if (parent(p) == getpid()) return p;
    return pid_t{0};
  };
  expect_twice(run(good, call), call);
  const pid_t first = zygote();
  ASSERT_NE(first, 0);
  kill(first, SIGKILL);
  ASSERT_TRUE(soon([&] { return ended(first); }));
  expect_twice(run(good, call), call);  // between batches

  const Task task{&sleeps, &call};
  lane().post({&task, 1});
  std::this_thread::sleep_for(100ms);
  const pid_t second = zygote();
  EXPECT_NE(second, first);
  ASSERT_NE(second, 0);
  kill(second, SIGKILL);
  expect_twice(lane().collect().front(), call);  // within one
}

// It would never say that its workers have ended.
TEST_F(RunLife, AStoppedZygoteIsNotWaitedForForEver) {
  const Call call = twice_call({3});
  options_.time_limit = 300ms;
  const auto begin = std::chrono::steady_clock::now();
  expect_crashed(run(marked("stops its parent"), call), "sent SIGSTOP to process");
  const Task task{&marked("hang"), &call};
  lane().post({&task, 1});
  ASSERT_TRUE(soon([&] { return processes(mark_).size() == 2; }));
  for (const pid_t p : processes(mark_))
    if (parent(p) == getpid()) kill(p, SIGSTOP);
  EXPECT_NE(lane().collect().front().kind, Outcome::Kind::ok);
  lane_.reset();
  EXPECT_TRUE(soon([&] { return processes(mark_).empty(); }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 120s);
}

TEST_F(RunLife, AKilledWorkerIsReplaced) {
  const Call call = twice_call({3});
  const Kernel& good = marked("twice");
  expect_twice(run(good, call), call);
  const auto workers = [&] {
    std::set<pid_t> w;
    for (const pid_t p : processes(mark_))
      if (parent(p) != getpid()) w.insert(p);
    return w;
  };
  const std::set<pid_t> first = workers();
  ASSERT_EQ(first.size(), 1u);
  kill(*first.begin(), SIGKILL);
  ASSERT_TRUE(soon([&] { return workers().empty(); }));
  expect_twice(run(good, call), call);
  EXPECT_NE(workers(), first);

  // While it runs a call, which costs no verdict.
  const Task task{&marked("sleeps"), &call};
  lane().post({&task, 1});
  std::this_thread::sleep_for(100ms);
  for (const pid_t worker : workers()) kill(worker, SIGKILL);
  expect_twice(lane().collect().front(), call);
}

TEST_F(RunLife, FilesAndMemoryAreGivenBack) {
  const Call call = twice_call({100'000});
  const Kernel& good = kernel("twice");
  const Kernel& crash = kernel("null pointer");
  const Task tasks[] = {{&good, &call}, {&crash, &call}};
  const auto round = [&] { Lane(zygotes_, options_).run(tasks); };
  round();
  const std::size_t files = open_files();
  for (int i = 0; i < 5; ++i) round();
  EXPECT_EQ(open_files(), files);
  EXPECT_EQ(contents("/proc/self/maps").find("assay-"), std::string::npos);
}

TEST_F(RunLife, VeryLargeBuffersAreGivenBack) {
  Call call = twice_call({0});
  self_of(call) = TensorData(Dtype::f32, {kHuge});
  call.outputs[0].shape = {kHuge};
  const auto mapped = [] {
    std::size_t bytes = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find("assay-arena") != std::string::npos)
        bytes += std::stoull(line.substr(line.find('-') + 1), nullptr, 16) - std::stoull(line, nullptr, 16);
    return bytes;
  };
  EXPECT_EQ(run("twice", call).kind, Outcome::Kind::ok);  // 512 MiB for both buffers
  EXPECT_LT(mapped(), std::size_t{128} << 20);
  EXPECT_GT(mapped(), 0u);
}

}  // namespace
}  // namespace assay
