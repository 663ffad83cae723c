#include "call_limit.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>

namespace assay {
namespace {

struct Running {
  int socket = -1;
  std::size_t kernel = 0;
  double seconds = 0;
};
Running running;

void on_alarm(int) {
  std::array<char, 128> line;
  const int n = std::snprintf(line.data(), line.size(), "{\"hung\":%zu,\"seconds\":%.6g}\n", running.kernel,
                              running.seconds);
  send(running.socket, line.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL);
  _exit(1);
}

void set_timer(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

void CallLimit::tell(int socket) {
  running.socket = socket;
  signal(SIGALRM, on_alarm);
}

CallLimit::CallLimit(std::size_t kernel, double seconds) {
  running.kernel = kernel;
  running.seconds = seconds;
  set_timer(seconds);
}

CallLimit::~CallLimit() { set_timer(0); }

}  // namespace assay
