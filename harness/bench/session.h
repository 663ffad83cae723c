// The harness's side of the process in which kernels are timed (timer.h).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../registry/registry.h"
#include "../run/descriptor.h"
#include "../run/strays.h"
#include "call_page.h"
#include "own_code.h"
#include "placement.h"

namespace assay {

// The timing process ended, hung, or answered nonsense; the message says how. Whoever asked may start another one.
struct SessionDied : std::runtime_error {
  explicit SessionDied(const std::string& how, std::optional<std::size_t> which = {}, bool others = false)
      : std::runtime_error(how), kernel(which), by_others(others) {}
  std::optional<std::size_t> kernel;  // that was running: its number in the group that was open
  bool by_others;       // by a signal that anybody may have sent: it need not be the kernel's doing
  bool surely = false;  // it was seen to do it
};
// Somebody gave up waiting (BenchOptions::stop), and the timing process was ended.
struct SessionStopped : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Whether somebody gives up waiting.
struct Stop {
  const std::atomic<bool>* asked = nullptr;
  std::function<void()>
      heard;  // called, perhaps more than once, where what runs is waited for a little longer
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

// What "open" may take: data, a reference and one call of each kernel.
inline constexpr double kOpenSeconds = 300;

class Session {
 public:
  // Files, one after the other; or copies of them in memory, one after the other or the last one first. Where a library comes to lie
  // makes a difference of some percent to calls that take less than a microsecond, and what a file's pages share lasts as long
  // as the file is in memory.
  enum class Loading : std::uint8_t { files, copies, copies_reversed };

  // `variables` are NAME=VALUE of the process. Once `stop` is asked for, nobody wants to wait any longer than for what is done in
  // a few seconds. Throws SessionDied if it does not start.
  Session(const Modules& modules, const Placement& placement, int threads,
          const std::vector<std::string>& variables, Loading loading = Loading::files, const Stop& stop = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Waits as long as `seconds`. Throws SessionError, SessionDied and SessionStopped. The answer is of the shape that timer.h says.
  nlohmann::json ask(const nlohmann::json& request, double seconds);

 private:
  // The answer to a request of that kind.
  nlohmann::json receive(const std::string& kind, double seconds);
  nlohmann::json understood(const std::string& kind, const std::string& line);
  // Ends the process if it says that another time passed than did, or if its code was changed.
  void distrust(double theirs, double ours);
  // Ends the process if one call takes much longer than it may, and the process does not see to that itself.
  void watch_call();
  // Shows what kernels printed, which is lost where it is more than a pipe holds.
  void show_output();
  // Ends the process if what it asks the system for is forbidden.
  void look_at_calls();
  [[noreturn]] void die(const std::string& how, std::optional<std::size_t> kernel = {});
  [[noreturn]] void ended();

  Adoption adoption_;  // before the process: what its kernels started ends after it
  SharedCallPage page_;
  Descriptor socket_;
  Descriptor output_;    // what kernels print
  Descriptor listener_;  // of its forbidden calls, where the system has such a thing
  pid_t process_ = -1;
  std::optional<OwnCode> code_;
  std::string buffer_;
  Stop stop_;
  std::size_t kernels_ = 0;         // of the group that is open
  std::vector<std::string> names_;  // of them
  // CallPage::number, since when, and how long the process had waited for a processor by then.
  std::uint32_t seen_ = 0;
  std::chrono::steady_clock::time_point since_;
  std::chrono::nanoseconds queued_{0};
};

}  // namespace assay
