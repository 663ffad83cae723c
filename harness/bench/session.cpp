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
#include <utility>

#include "../run/process.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr double kStartSeconds = 60;  // importing PyTorch from a cold disk
constexpr std::chrono::seconds kAfterStop{3};

}  // namespace

SessionHung::SessionHung(std::size_t which, double seconds)
    : SessionDied(fmt::format("did not return within {:.3g} s", seconds)), kernel(which) {}

std::string kernel_library(const std::string& program, const std::string& which) {
  return (std::filesystem::path(program).parent_path().parent_path() / "optimized" /
          fmt::format("libassay_{}_plugin.so", which))
      .string();
}

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
  if (arguments.size() == 2 && arguments[0] == "--plugin") return add(arguments[1]);
  if (kernel.environment.program != program_) {
    torch_ = true;
    return kOwn;
  }
  return add(
      kernel_library(program_, kernel.on_device ? "cuda" : kernel.name.substr(0, kernel.name.find('.'))));
}

Session::Session(const Modules& modules, const Placement& placement, int threads,
                 const std::vector<std::string>& variables, Loading loading, const std::atomic<bool>* stop)
    : stop_(stop) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw SessionDied(fmt::format("socketpair: {}", std::strerror(errno)));
  socket_ = Descriptor(ends[0]);
  Descriptor theirs(ends[1]);
  const Descriptor silent(open("/dev/null", O_WRONLY | O_CLOEXEC));
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
    // OpenMP looks at the processors that it has when it is loaded, before main().
    const Pinned inherited(placement.cpus);
    process_ = start_process(environment, first, {silent.get(), STDERR_FILENO, theirs.get()});
  } catch (const std::runtime_error& error) {
    throw SessionDied(error.what());
  }
  theirs.close();
  try {
    receive(kStartSeconds);
  } catch (const SessionError& error) {
    throw SessionDied(error.what());
  }
}

Session::~Session() {
  socket_.close();
  if (process_ > 0) end_process(process_, 2000);
}

void Session::die(const std::string& how) {
  socket_.close();
  if (process_ > 0) {
    ::kill(-process_, SIGKILL);
    const int status = end_process(std::exchange(process_, -1), 2000);
    throw SessionDied(how.empty() ? fmt::format("the timing process {}", ending(status)) : how);
  }
  throw SessionDied(how.empty() ? "the timing process ended" : how);
}

Json Session::ask(const Json& request, double seconds) {
  std::string line = request.dump();
  line += '\n';
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = send(socket_.get(), line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) die("");
    at += static_cast<std::size_t>(n);
  }
  return receive(seconds);
}

Json Session::receive(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto limit =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::optional<Clock::time_point> stopped;
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      Json answer = Json::parse(line);
      if (answer.contains("error")) throw SessionError(answer["error"].get<std::string>());
      if (answer.contains("hung")) throw SessionHung(answer["hung"], answer["seconds"]);
      return answer;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now()).count();
    if (left <= 0) die(fmt::format("it did not end within {:.0f} s", seconds));
    if (stop_ != nullptr && *stop_) {
      if (!stopped) stopped = Clock::now();
      if (Clock::now() - *stopped > kAfterStop) {
        try {
          die("");
        } catch (const SessionDied&) {
          throw SessionStopped("interrupted");
        }
      }
    }
    pollfd waiting{socket_.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<long>(left, 500)));
    if (ready <= 0) continue;
    char bytes[65536];
    const ssize_t n = read(socket_.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) die("");
    buffer_.append(bytes, static_cast<std::size_t>(n));
  }
}

}  // namespace assay
