#include "record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "../judge/judge.h"
#include "../registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "vocabulary/operators.h"

extern char** environ;

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string python() {
  const char* chosen = std::getenv("ASSAY_TORCH_PYTHON");
  return chosen != nullptr && *chosen != 0 ? chosen : ASSAY_PYTHON;
}

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

// Runs it on this terminal; its exit code, or 128 and the signal.
int run_here(std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& w : command) words.push_back(w.data());
  words.push_back(nullptr);
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, &before);
  // The program gets back what this process ignores now.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  posix_spawnattr_setsigdefault(&attributes, &interrupts);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0], nullptr, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  int status = 0;
  if (error == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  sigaction(SIGINT, &before, nullptr);
  if (error != 0) throw CannotRecord(fmt::format("cannot start {}: {}", command[0], std::strerror(error)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

RecordSummary record(const Registry& registry, const RecordOptions& options) {
  const TemporaryFolder folder;
  write_file(folder.file("operators.json"), operators_json(registry));
  std::vector<std::string> command{python(),
                                   "-B",
                                   ASSAY_RECORD,
                                   folder.file("operators.json"),
                                   folder.file("summary.json"),
                                   options.trace,
                                   std::to_string(options.limit),
                                   fmt::format("{}", fmt::join(options.operators, ",")),
                                   options.script};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  // Else glibc takes tensors from its heap after a while, where what HDF5 keeps of each stands between them, and gives
  // nothing back: a program that frees its results would grow by all of them.
  setenv("MALLOC_MMAP_THRESHOLD_", "1048576", 0);
  const int exit = run_here(command);
  // Whatever ended it, half a trace is none.
  std::error_code ignored;
  fs::remove(options.trace + ".part", ignored);
  if (!fs::exists(folder.file("summary.json"))) {
    const Finished needs = run_program(command[0], {"-c", "import torch, h5py"});
    if (needs.status != 0)
      throw CannotRecord(fmt::format(
          "recording needs PyTorch and h5py for {} (apt install python3-torch python3-h5py, or name another "
          "interpreter by ASSAY_TORCH_PYTHON): {}",
          command[0], needs.err.empty() ? "it cannot be started" : needs.err));
    RecordSummary none;
    none.exit = exit;
    none.kept = false;
    return none;
  }
  const json said = json::parse(read_file(folder.file("summary.json")));
  RecordSummary summary;
  summary.recorded = said.at("recorded").get<std::uint64_t>();
  summary.passed = said.at("passed").get<std::map<std::string, std::uint64_t>>();
  summary.full = said.at("full").get<bool>();
  summary.unknown = said.at("unknown").get<std::map<std::string, std::uint64_t>>();
  summary.exit = exit;
  return summary;
}

}  // namespace assay
