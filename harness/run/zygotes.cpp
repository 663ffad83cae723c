#include "zygotes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <vector>

#include "check.h"
#include "forked.h"
#include "process.h"
#include "protocol.h"

namespace assay {

namespace {

constexpr std::chrono::seconds kLoadTime{120};  // a cold `import torch` takes several seconds
constexpr int kStarts = 5;                      // a zygote that dies this often is given up

// One packet, or 0 at the end, or -1 when the time is over.
ssize_t receive(int socket, void* to, std::size_t n, std::chrono::steady_clock::time_point limit) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now());
    pollfd waiting{socket, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready == 0) return -1;
    if (ready < 0) continue;
    const ssize_t got = recv(socket, to, n, 0);
    if (got < 0 && errno == EINTR) continue;
    return std::max<ssize_t>(got, 0);
  }
}

std::string command(const Environment& environment) {
  std::string text = environment.program;
  if (!environment.before.empty()) return fmt::format("{} for {}", text, environment.arguments.back());
  for (const std::string& a : environment.arguments) text += " " + a;
  return text;
}

}  // namespace

Zygote::Zygote(const Environment& environment) {
  if (is_forked(environment))
    fork_it(environment);
  else
    start_it(environment);
  try {
    greet(environment);
  } catch (...) {
    socket_.close();
    end_process(process_, 0);
    throw;
  }
}

void Zygote::fork_it(const Environment& environment) {
  try {
    ForkedProcess forked = fork_process(environment, "--zygote");
    socket_ = std::move(forked.socket);
    process_ = forked.process;
  } catch (const std::runtime_error& error) {
    throw NotStarted(error.what());
  }
}

void Zygote::start_it(const Environment& environment) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw NotStarted(fmt::format("cannot make a socket for a worker process: {}", std::strerror(errno)));
  socket_ = Descriptor(ends[0]);
  Descriptor theirs(ends[1]);
  ChildFiles files;
  files.extra = theirs.get();
  // What libraries print while they load, the registry has shown. Nobody reads it later.
  int output[2];
  if (pipe2(output, O_CLOEXEC | O_NONBLOCK) != 0)
    throw NotStarted(fmt::format("cannot make a pipe to a worker process: {}", std::strerror(errno)));
  output_ = Descriptor(output[0]);
  const Descriptor its_output(output[1]);
  files.out = files.err = its_output.get();
  const std::string first[] = {"--zygote", "3"};
  try {
    process_ = start_process(environment, first, files);
  } catch (const std::runtime_error& error) {
    throw NotStarted(error.what());
  }
}

Zygote::~Zygote() {
  socket_.close();
  end_process(process_, 2000);
}

void Zygote::greet(const Environment& environment) {
  const auto limit = std::chrono::steady_clock::now() + kLoadTime;
  const auto died = [&] {
    const std::string how = ending(end_process(process_, 1000));
    char text[4096];
    const ssize_t n = output_.get() < 0 ? 0 : read(output_.get(), text, sizeof text);
    const std::string printed = last_words({text, static_cast<std::size_t>(std::max<ssize_t>(n, 0))});
    return NotStarted(
        fmt::format("the worker process {} {} while it loaded its kernels{}", command(environment), how,
                    printed.empty() ? "" : "; it printed: " + printed),
        true);
  };
  const auto late = [&] {
    return NotStarted(fmt::format("the worker process {} did not load its kernels within {} s",
                                  command(environment), kLoadTime.count()),
                      true);
  };
  Greeting greeting{};
  const ssize_t got = receive(socket_.get(), &greeting, sizeof(greeting), limit);
  if (got < 0) throw late();
  if (got != sizeof(greeting)) throw died();
  std::string text;
  std::vector<char> packet(kGreetingPacket);
  while (text.size() < greeting.bytes) {
    const ssize_t n = receive(socket_.get(), packet.data(), packet.size(), limit);
    if (n < 0) throw late();
    if (n == 0) throw died();
    text.append(packet.data(), static_cast<std::size_t>(n));
  }
  if (greeting.ok == 0) throw NotStarted(text, true);
  int position = 0;
  for (std::size_t at = 0; at < text.size(); ++position) {
    const std::size_t name_end = text.find('\0', at);
    const std::size_t schema_end = text.find('\0', name_end + 1);
    table_.emplace(
        std::pair(text.substr(name_end + 1, schema_end - name_end - 1), text.substr(at, name_end - at)),
        position);
    at = schema_end + 1;
  }
}

int Zygote::find(const std::string& schema, const std::string& table_name) const {
  const auto at = table_.find({schema, table_name});
  return at == table_.end() ? -1 : at->second;
}

bool Zygote::start_worker(std::uint32_t worker, int arena, int bell, int output) const {
  Request request{Request::start, worker};
  const int files[kRequestFiles] = {arena, bell, output};
  iovec part{&request, sizeof(request)};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(files))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof(room);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(files));
  std::memcpy(CMSG_DATA(header), files, sizeof(files));
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == sizeof(request);
}

bool Zygote::kill_worker(std::uint32_t worker) const {
  const Request request{Request::kill, worker};
  ssize_t sent = -1;
  do {
    sent = send(socket_.get(), &request, sizeof(request), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == sizeof(request);
}

bool Zygote::alive() const {
  pollfd state{socket_.get(), 0, 0};
  return poll(&state, 1, 0) <= 0;
}

void Zygote::kill() const { ::kill(process_, SIGKILL); }

std::shared_ptr<Zygote> Zygotes::get(const Environment& environment) {
  Slot* slot = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Slot>& place = slots_[environment];
    if (!place) place = std::make_unique<Slot>();
    slot = place.get();
  }
  const std::lock_guard lock(slot->mutex);
  if (slot->zygote && slot->zygote->alive()) return slot->zygote;
  if (slot->failure) throw NotStarted(*slot->failure);
  slot->zygote.reset();
  if (slot->starts++ == kStarts)
    slot->failure.emplace(
        fmt::format("the worker process {} has died {} times", command(environment), kStarts), true);
  try {
    if (!slot->failure) slot->zygote = std::make_shared<Zygote>(environment);
  } catch (const NotStarted& failure) {
    slot->failure = failure;
  }
  if (slot->failure) throw NotStarted(*slot->failure);
  return slot->zygote;
}

std::shared_ptr<Zygotes> make_zygotes() { return std::make_shared<Zygotes>(); }

}  // namespace assay
