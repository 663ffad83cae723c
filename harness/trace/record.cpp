#include "record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "../judge/judge.h"
#include "../registry/configured.h"
#include "../registry/installed.h"
#include "../registry/subprocess.h"
#include "../run/forked.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "vocabulary/operators.h"

extern char** environ;

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string operators_json(const Registry& registry) {
  json all = json::array();
  for (const Operator* op : operators()) {
    json arguments = json::array(), results = json::array();
    for (const Argument& a : op->schema.arguments()) arguments.push_back(a.name);
    for (std::size_t k = 0; k < op->schema.result_count; ++k) results.push_back(output_name(*op, k));
    std::string contract;
    for (const Kernel* kernel : registry.kernels_of(*op))
      if (kernel->name == "torch") contract = kernel->contract;
    all.push_back({{"op", op->schema.name},
                   {"arguments", std::move(arguments)},
                   {"results", std::move(results)},
                   {"aliases", op->aliases},
                   {"contract", contract}});
  }
  return all.dump();
}

// Signals to this process alone, which the program has to know of, or it would go on without it.
class HandedOn {
 public:
  HandedOn() {
    struct sigaction hand_on {};
    hand_on.sa_sigaction = on_signal;
    hand_on.sa_flags = SA_SIGINFO;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      // What is ignored, as in the background, stays so, for the program too.
      if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &hand_on, nullptr);
    }
  }
  ~HandedOn() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    child = 0;
  }
  HandedOn(const HandedOn&) = delete;
  HandedOn& operator=(const HandedOn&) = delete;

  static void to(pid_t program) {
    child = program;
    if (const int early = last.load(); early != 0) kill(program, early);
  }
  static bool any() { return last != 0; }

 private:
  static void on_signal(int number, siginfo_t* info, void*) {
    if (info->si_code == SI_KERNEL) return;  // of the terminal, which has told the program as well
    last = number;
    if (const pid_t program = child.load(); program != 0) kill(program, number);
  }

  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  static inline std::atomic<pid_t> child{0};
  static inline std::atomic<int> last{0};
  std::array<struct sigaction, kSignals.size()> before_{};
};

constexpr const char* kSocket = "ASSAY_PYTHON_SOCKET";

// In a process that the caller forks.
void run_in_caller(std::vector<std::string> command) {
  constexpr int kInterpreter = 3;  // words that start record.py
  command.erase(command.begin(), command.begin() + kInterpreter);
  try {
    const ForkedProcess recording = fork_process({fmt::format("@{}", std::getenv(kSocket)), std::move(command), {}}, "--record");
    char nothing = 0;
    for (ssize_t n = -1; n != 0;) {
      n = recv(recording.socket.get(), &nothing, 1, 0);
      if (n < 0 && errno != EINTR) break;
    }
  } catch (const std::runtime_error& e) {
    throw CannotRecord(e.what());
  }
}

constexpr std::string_view kPart = ".part", kKept = ".kept.h5";

// "trace.h5.kept.h5", "trace.h5-2.kept.h5", ..: the first that is not there.
std::string free_name(const std::string& stem, std::string_view ending, int number = 1) {
  for (;; ++number) {
    std::string name = number == 1 ? fmt::format("{}{}", stem, ending) : fmt::format("{}-{}{}", stem, number, ending);
    std::error_code error;
    if (!fs::exists(name, error)) return name;
  }
}

// What processes left that were killed while they wrote: half a trace is none.
void remove_dead_parts(const std::string& trace) {
  const fs::path folder = fs::absolute(trace).parent_path();
  const std::string begin = fs::path(trace).filename().string() + ".";
  std::error_code error;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, error)) {
    const std::string name = e.path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(kPart) || name.size() <= begin.size() + kPart.size()) continue;
    const std::string number = name.substr(begin.size(), name.size() - begin.size() - kPart.size());
    pid_t process = 0;
    const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), process);
    if (failed == std::errc{} && end == number.data() + number.size() && process > 0 && kill(process, 0) != 0 &&
        errno == ESRCH)
      fs::remove(e.path(), error);
  }
}

// Runs it on this terminal; its exit code, or 128 and the signal. With `apart`, its standard output is our standard error.
int run_here(std::vector<std::string> command, bool apart) {
  std::vector<char*> words;
  for (std::string& w : command) words.push_back(w.data());
  words.push_back(nullptr);
  const HandedOn signals;
  pid_t child = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (apart) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  const int error = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error == 0) {
    HandedOn::to(child);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (error != 0) throw CannotRecord(fmt::format("cannot start {}: {}", command[0], std::strerror(error)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

bool is_of_caller(const std::string& script) {
  const char* const socket = std::getenv(kSocket);
  return script.starts_with('@') && socket != nullptr && *socket != 0;
}

std::string torch_python() {
  const char* chosen = std::getenv("ASSAY_TORCH_PYTHON");
  return chosen != nullptr && *chosen != 0 ? chosen : configured::python;
}

RecordSummary record(const Registry& registry, const RecordOptions& options) {
  const TemporaryFolder folder;
  remove_dead_parts(options.trace);
  // Of this process alone: another may record to the same trace.
  const std::string partial = fmt::format("{}.{}{}", options.trace, getpid(), kPart);
  const std::string copy = free_name(options.trace, kKept);
  if (options.keeps_earlier && fs::is_regular_file(options.trace)) {
    const fs::path trace = options.trace;
    std::error_code error;
    fs::rename(trace, free_name((trace.parent_path() / trace.stem()).string(), trace.extension().string(), 2), error);
  }
  write_file(folder.file("operators.json"), operators_json(registry));
  std::vector<std::string> command{torch_python(),
                                   "-B",
                                   data_file("harness/python/record.py"),
                                   folder.file("operators.json"),
                                   folder.file("summary.json"),
                                   options.trace,
                                   partial,
                                   copy,
                                   std::to_string(options.limit),
                                   fmt::format("{}", fmt::join(options.operators, ",")),
                                   std::to_string(options.call),
                                   options.exported,
                                   options.script};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  // Else glibc takes tensors from its heap after a while, where what HDF5 keeps of each stands between them, and gives
  // nothing back: a program that frees its results would grow by all of them.
  setenv("MALLOC_MMAP_THRESHOLD_", "1048576", 0);
  const bool of_caller = is_of_caller(options.script);
  if (of_caller) run_in_caller(command);
  const int exit = of_caller ? 1 : run_here(command, options.apart);
  // Whatever ended it, half a trace is none.
  std::error_code ignored;
  fs::remove(partial, ignored);
  if (!fs::exists(folder.file("summary.json"))) {
    const Finished needs = of_caller ? Finished{} : run_program(command[0], {"-c", "import torch, h5py"});
    if (needs.status != 0)
      throw CannotRecord(fmt::format(
          "recording needs PyTorch and h5py for {} (apt install python3-torch python3-h5py, or pip install torch h5py; "
          "or name another interpreter by ASSAY_TORCH_PYTHON): {}",
          command[0], needs.err.empty() ? "it cannot be started" : needs.err));
    RecordSummary none;
    none.exit = exit;
    none.signalled = HandedOn::any();
    none.kept = false;
    if (fs::is_regular_file(copy, ignored)) none.copy = copy;
    return none;
  }
  const json said = json::parse(read_file(folder.file("summary.json")));
  RecordSummary summary;
  summary.recorded = said.at("recorded").get<std::uint64_t>();
  summary.passed = said.at("passed").get<std::map<std::string, std::uint64_t>>();
  summary.full = said.at("full").get<bool>();
  summary.unknown = said.at("unknown").get<std::map<std::string, std::uint64_t>>();
  summary.lost = said.at("lost").get<std::string>();
  summary.no_operator = said.at("no_operator").get<std::vector<std::string>>();
  summary.outermost = said.at("outermost").get<std::vector<std::string>>();
  summary.not_exported = said.at("not_exported").get<std::string>();
  summary.exit = of_caller ? said.at("exit").get<int>() : exit;
  summary.signalled = HandedOn::any();
  return summary;
}

}  // namespace assay
