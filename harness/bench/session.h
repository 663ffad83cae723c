// The harness's side of the process in which kernels are timed (timer.h).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "../registry/registry.h"
#include "../run/descriptor.h"
#include "placement.h"

namespace assay {

// The timing process ended or hung; the message says how. Whoever asked may start another one.
struct SessionDied : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A kernel did not return, so that the process ended.
struct SessionHung : SessionDied {
  SessionHung(std::size_t which, double seconds);
  std::size_t kernel;  // its number in the group that was open
};
// Somebody gave up waiting (BenchOptions::stop), and the timing process was ended.
struct SessionStopped : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// It answered that it could not do what was asked.
struct SessionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The libraries that a timing process loads, and which kernel comes from where.
class Modules {
 public:
  // `program` is the path of `assay`: our own kernels and those of oneDNN and OpenBLAS are libraries beside it.
  explicit Modules(std::string program);

  static constexpr int kOwn = -1;  // PyTorch's kernels, which assay-torch has itself
  // The number of the library that the kernel is in; loads it from then on.
  int of(const Kernel& kernel);
  int add(const std::string& library);
  int add_again(const std::string& library);  // another copy, if it is there already

  const std::vector<std::string>& libraries() const { return libraries_; }
  bool needs_torch() const { return torch_; }
  const std::string& program() const { return program_; }

 private:
  std::string program_;
  std::vector<std::string> libraries_;
  bool torch_ = false;
};

// Where this build has its own kernels as a library: "cpu", "onednn", "openblas" or "cuda".
std::string kernel_library(const std::string& program, const std::string& which);

class Session {
 public:
  // Files, one after the other; or copies of them in memory, one after the other or the last one first. Where a library comes to lie
  // makes a difference of some percent to calls that take less than a microsecond, and what a file's pages share lasts as long
  // as the file is in memory.
  enum class Loading : std::uint8_t { files, copies, copies_reversed };

  // `variables` are NAME=VALUE of the process. `stop`, if there is one, says that nobody wants to wait any longer than for
  // what is done in a few seconds. Throws SessionDied if it does not start.
  Session(const Modules& modules, const Placement& placement, int threads,
          const std::vector<std::string>& variables, Loading loading = Loading::files,
          const std::atomic<bool>* stop = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Waits as long as `seconds`. Throws SessionError, SessionDied and SessionStopped.
  nlohmann::json ask(const nlohmann::json& request, double seconds);

 private:
  nlohmann::json receive(double seconds);
  [[noreturn]] void die(const std::string& how);

  Descriptor socket_;
  pid_t process_ = -1;
  std::string buffer_;
  const std::atomic<bool>* stop_;
};

}  // namespace assay
