#include "session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "../registry/parts.h"
#include "../run/forbidden.h"
#include "../run/printed.h"
#include "../run/process.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr double kStartSeconds = 60;  // importing PyTorch from a cold disk
constexpr std::chrono::seconds kAfterStop{3};
constexpr double kLate = 2;    // seconds that the process has, beyond a call's limit, to end itself
constexpr int kEndMs = 2000;   // that it has to end, once its socket is closed
constexpr long kLookMs = 500;  // between looks at the process
// What its clock may be off by, and seconds that its answer may wait where the machine is busy.
constexpr double kSlowestClock = 0.75;
constexpr double kUnseen = 0.3;
constexpr const char* kReady = "ready";

// What answers have at least, and of which type; {} and [] say nothing of what is in them.
const Json& shape_of(const std::string& kind) {
  static const Json kShapes = Json::parse(R"({
    "ready": {"ready": true},
    "open": {"kernels": [{"status": "", "reason": "", "information": ""}], "operations": 0, "functions": 0, "dtype": "",
             "bytes": 0, "sets": 0, "device": "", "device_cache": 0, "bytes_of_set": 0},
    "measure": {"elapsed": 0, "kernels": [{"cpu": [0], "wall": [0], "calls": 0}],
                "limits": {"stream": {"cpu": [0], "wall": [0]}, "streaming": {"cpu": [0], "wall": [0]},
                           "operation": {"cpu": [0], "wall": [0]}, "element": {"cpu": [0], "wall": [0]}}},
    "close": {"kernels": [{"status": "", "reason": ""}]},
    "entries": {"entries": []},
    "bandwidths": {"limits": [{}]}
  })");
  return kShapes.at(kind);
}

bool has_shape(const Json& answer, const Json& shape) {
  if (shape.is_object()) {
    if (!answer.is_object()) return false;
    for (const auto& [key, value] : shape.items())
      if (!answer.contains(key) || !has_shape(answer[key], value)) return false;
    return true;
  }
  if (shape.is_array()) {
    if (!answer.is_array()) return false;
    return shape.empty() ||
           std::ranges::all_of(answer, [&](const Json& each) { return has_shape(each, shape[0]); });
  }
  return shape.is_number() ? answer.is_number() : answer.type() == shape.type();
}

bool has_ended(pid_t process, int patience_ms) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::milliseconds(patience_ms);
  for (;;) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return true;
    if (info.si_pid == process) return true;
    if (Clock::now() >= limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Modules::Modules(std::string program) : program_(std::move(program)) {
  add(kernel_library(program_, "cpu"));  // the speed of exp is measured with it, whatever is timed
}

int Modules::add(const std::string& library) {
  const auto at = std::ranges::find(libraries_, library);
  if (at != libraries_.end()) return static_cast<int>(at - libraries_.begin());
  libraries_.push_back(library);
  return static_cast<int>(libraries_.size()) - 1;
}

int Modules::add_again(const std::string& library) {
  libraries_.push_back(library);
  return static_cast<int>(libraries_.size()) - 1;
}

int Modules::of(const Kernel& kernel) {
  const std::vector<std::string>& arguments = kernel.environment.arguments;
  if (arguments.size() >= 2 && arguments[0] == "--plugin") return add(arguments[1]);
  if (kernel.environment.program != program_) {
    torch_ = true;
    return kOwn;
  }
  return add(kernel_library(program_, kernel.name.substr(0, kernel.name.find('.'))));
}

Session::Session(const Modules& modules, const Placement& placement, int threads,
                 const std::vector<std::string>& variables, Loading loading, const Stop& stop)
    : stop_(stop) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw SessionDied(fmt::format("socketpair: {}", std::strerror(errno)));
  socket_ = Descriptor(ends[0]);
  Descriptor theirs(ends[1]);
  int output[2];
  // Nobody waits for whoever prints too much, which would be timed.
  if (pipe2(output, O_CLOEXEC | O_NONBLOCK) != 0)
    throw SessionDied(fmt::format("pipe: {}", std::strerror(errno)));
  output_ = Descriptor(output[0]);
  const Descriptor its_output(output[1]);
  Environment environment;
  environment.program =
      modules.needs_torch()
          ? std::filesystem::path(modules.program()).replace_filename("assay-torch").string()
          : modules.program();
  environment.variables = variables;
  set_variable(environment, fmt::format("OMP_NUM_THREADS={}", threads), false);
  // Threads that wait for each other between two calls shall not be put to sleep; they have processors of their own.
  if (threads > 1) {
    set_variable(environment, fmt::format("OPENBLAS_NUM_THREADS={}", threads), true);
    set_variable(environment, "OMP_WAIT_POLICY=active", false);
    set_variable(environment, "OMP_PROC_BIND=true", false);
  }
  // Memory that is freed stays with the process, so that no kernel is timed with the system's page faults.
  set_variable(environment,
               "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=4294967296",
               false);
  if (modules.needs_torch()) environment.arguments.emplace_back("--own");
  for (const std::string& library : modules.libraries()) {
    environment.arguments.emplace_back("--module");
    environment.arguments.push_back(library);
  }
  if (loading != Loading::files) environment.arguments.emplace_back("--copies");
  if (loading == Loading::copies_reversed) environment.arguments.emplace_back("--reversed");
  if (!placement.cpus.empty()) {
    environment.arguments.emplace_back("--cpus");
    environment.arguments.push_back(placement.cpus);
  }
  if (!placement.node.empty()) {
    environment.arguments.emplace_back("--membind");
    environment.arguments.push_back(placement.node);
  }
  const std::vector<std::string> first{"--timer", "3"};
  try {
    page_.send(socket_.get());
    // OpenMP looks at the processors that it has when it is loaded, before main().
    const Pinned inherited(placement.cpus);
    process_ = start_process(environment, first, {its_output.get(), its_output.get(), theirs.get()});
  } catch (const std::runtime_error& error) {
    throw SessionDied(error.what());
  }
  theirs.close();
  try {
    receive(kReady, kStartSeconds);
    code_.emplace(process_);
  } catch (const SessionError& error) {
    throw SessionDied(error.what());
  }
}

void Session::show_output() {
  std::string text;
  char some[4096];
  for (ssize_t n = read(output_.get(), some, sizeof some); n > 0; n = read(output_.get(), some, sizeof some))
    text.append(some, static_cast<std::size_t>(n));
  if (!text.empty()) show_printed(names_.empty() ? std::vector<std::string>{"timing process"} : names_, text);
}

Session::~Session() {
  show_output();
  socket_.close();
  if (process_ <= 0) return;
  has_ended(process_, kEndMs);
  ::kill(-process_, SIGKILL);  // what kernels started, too
  end_process(process_, 0);
}

void Session::die(const std::string& how, std::optional<std::size_t> kernel) {
  socket_.close();
  if (process_ > 0) {
    ::kill(-process_, SIGKILL);
    end_process(std::exchange(process_, -1), kEndMs);
  }
  throw SessionDied(how, kernel);
}

// By itself, as it seems: it may also have closed the socket and gone on.
void Session::ended() {
  const auto number = [this](std::uint32_t kernel) {
    return kernel < kernels_ ? std::optional<std::size_t>(kernel)
                             : std::nullopt;  // a kernel can write there, too
  };
  const std::optional<std::size_t> kernel = number(page_->kernel);
  if (process_ <= 0) throw SessionDied("the timing process ended");
  if (!has_ended(process_, kEndMs)) die("the timing process closed the socket that it answers on", kernel);
  socket_.close();
  ::kill(-process_, SIGKILL);  // what it started
  const int status = end_process(std::exchange(process_, -1), kEndMs);
  if (const auto forker = number(page_->forker))
    throw SessionDied("it forked, and its child went on as if it were the timing process, or forked, too",
                      forker);
  if (kernel && page_->late)
    throw SessionDied(fmt::format("did not return within {:.3g} s", page_->seconds.load()), kernel);
  const bool by_others = WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM);
  throw SessionDied(fmt::format("the timing process {}{}", ending(status), kernel ? " while it ran" : ""),
                    kernel, by_others);
}

void Session::look_at_calls() {
  // What kernels started may signal each other: that descends from the process, or has come to us (Adoption).
  const auto may_signal = [this](pid_t to) {
    if (to == process_) return false;
    for (pid_t p = parent_of(to); p > 1; p = parent_of(p))
      if (p == process_ || p == getpid()) return true;
    return false;
  };
  const StoppedCall stopped = next_stopped_call(listener_.get(), process_, {}, may_signal);
  if (stopped.what == Misdeed::none) return;
  const std::uint32_t running = page_->kernel;
  const auto kernel = running < kernels_ ? std::optional<std::size_t>(running) : std::nullopt;
  const auto to = static_cast<pid_t>(static_cast<std::int64_t>(stopped.address));
  const std::string what = misdeed_text(stopped.what, stopped.signal, to, to == process_);
  try {
    die(what, kernel);
  } catch (SessionDied& died) {
    died.surely = stopped.in_call;
    throw;
  }
}

void Session::watch_call() {
  const auto now = std::chrono::steady_clock::now();
  const std::uint32_t number = page_->number, kernel = page_->kernel;
  if (number != seen_ || kernel == kNothing) {
    seen_ = number;
    since_ = now;
    queued_ = queued(process_);
    return;
  }
  const double seconds = page_->seconds;
  if (!(seconds > 0) || kernel >= kernels_) return;
  const std::chrono::duration<double> ran = now - since_ - (queued(process_) - queued_);
  if (ran.count() > seconds + kLate) die(fmt::format("did not return within {:.3g} s", seconds), kernel);
}

Json Session::ask(const Json& request, double seconds) {
  const std::string kind = request.at("do");
  if (kind == "open") {
    kernels_ = request.at("kernels").size();
    names_.clear();
    for (const Json& k : request.at("kernels"))
      if (std::string name = k.at("shown").get<std::string>();
          std::ranges::find(names_, name) == names_.end())
        names_.push_back(std::move(name));
  }
  std::string line = request.dump();
  line += '\n';
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = send(socket_.get(), line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ended();
    at += static_cast<std::size_t>(n);
  }
  const auto begin = std::chrono::steady_clock::now();
  Json answer = receive(kind, seconds);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (kind == "measure") distrust(answer["elapsed"].get<double>() * 1e-9, took.count());
  return answer;
}

// A kernel shares the process that times it. Whoever changed its clock is found by being tried alone.
void Session::distrust(double theirs, double ours) {
  if (const std::string file = code_ ? code_->changed() : ""; !file.empty())
    die(fmt::format("code of {} was written over while kernels were timed",
                    std::filesystem::path(file).filename().string()));
  if (theirs < kSlowestClock * ours - kUnseen || theirs > ours + kUnseen)
    die(fmt::format(
        "the timing process says that {:.3g} s passed, of which this one saw {:.3g} s: its clock is not the "
        "system's",
        theirs, ours));
}

// A kernel can write to the socket, too.
Json Session::understood(const std::string& kind, const std::string& line) {
  const Json answer = Json::parse(line, nullptr, false);
  if (answer.is_object() && answer.contains("error") && answer["error"].is_string())
    throw SessionError(answer["error"].get<std::string>());
  const auto of_group = [&] { return !answer.contains("kernels") || answer["kernels"].size() == kernels_; };
  if (!has_shape(answer, shape_of(kind)) || !of_group() || !buffer_.empty())
    die("the timing process gave an answer that is none");
  return answer;
}

Json Session::receive(const std::string& kind, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto limit =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  // Nothing of the first answers is worth waiting for.
  const auto after_stop = kind == kReady || kind == "bandwidths" ? Clock::duration::zero() : kAfterStop;
  std::optional<Clock::time_point> stopped;
  for (;;) {
    if (buffer_.starts_with('\n')) buffer_.erase(0, 1);  // with which the listener came
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      show_output();
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return understood(kind, line);
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now()).count();
    if (left <= 0) die(fmt::format("it did not end within {:.0f} s", seconds));
    if (stop_.asked != nullptr && *stop_.asked) {
      if (!stopped) {
        stopped = Clock::now();
        if (after_stop > Clock::duration::zero() && stop_.heard) stop_.heard();
      }
      if (Clock::now() - *stopped >= after_stop) {
        try {
          die("");
        } catch (const SessionDied&) {
          throw SessionStopped("interrupted");
        }
      }
    }
    pollfd waiting[] = {{socket_.get(), POLLIN, 0}, {listener_ ? listener_.get() : -1, POLLIN, 0}};
    const int ready = poll(waiting, 2, static_cast<int>(std::min<long>(left, kLookMs)));
    if (ready > 0 && (waiting[1].revents & POLLIN) != 0) look_at_calls();
    if (ready > 0 && waiting[1].revents != 0 && (waiting[1].revents & POLLIN) == 0) listener_.close();
    if (ready == 0) {
      show_output();
      // A process that the kernel started may hold the socket, too.
      if (has_ended(process_, 0)) ended();
      watch_call();
    }
    if (ready <= 0 || waiting[0].revents == 0) continue;
    char bytes[65536];
    const ssize_t n = receive_with_listener(socket_.get(), bytes, listener_);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ended();
    buffer_.append(bytes, static_cast<std::size_t>(n));
  }
}

}  // namespace assay
