#include "serve.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <new>
#include <stdexcept>

#include "answers.h"
#include "channel.h"
#include "vocabulary/stop.h"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace assay::serve {
namespace {

// Whether the other side has closed the socket, asked now and then.
class Gone {
 public:
  explicit Gone(int socket) : socket_(socket) {}
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return gone_;
    next_ = now + std::chrono::milliseconds(50);
    return gone_ = gone_ || is_closed(socket_);
  }

 private:
  int socket_;
  bool gone_ = false;
  std::chrono::steady_clock::time_point next_{};
};

Reply reply_to_message(Message& message) {
  if (message.too_long > 0)
    return failure(kProtocol,
                   fmt::format("a request of {} bytes: {} are the most; tensors go into the memory beside it",
                               message.too_long, kMostText));
  if (message.too_many) return failure(kProtocol, "more than one descriptor came with the request");
  try {
    const SharedMemory memory = message.memory ? SharedMemory(std::move(message.memory)) : SharedMemory();
    const Request request = parse_request(message.text, memory.size());
    return reply_to(request,
                    [&](std::uint64_t offset, std::span<std::byte> into) { memory.read(offset, into); });
  } catch (const RequestError& e) {
    return failure(e.kind, e.what());
  } catch (const std::bad_alloc&) {
    return failure(kMemory, "there is not enough memory for this call; judge a part of it");
  } catch (const std::length_error&) {
    return failure(kMemory, "there is not enough memory for this call; judge a part of it");
  } catch (const std::exception& e) {
    return failure("internal", fmt::format("a fault of Assay's own: {}", e.what()));
  }
}

// Memory that is freed is kept for the next request (main/memory.h), but not much of it: this process lives as long as its program.
void give_memory_back() {
#ifdef M_TRIM_THRESHOLD
  constexpr std::size_t kKept = std::size_t{512} << 20;
  if (mallinfo2().fordblks > kKept) malloc_trim(0);
#endif
}

}  // namespace

void serve(int socket) {
  const std::string hello =
      fmt::format("{{\"format\": \"{}\", \"version\": \"{}\"}}", kServeFormat, ASSAY_VERSION);
  if (!send(socket, hello, -1)) return;
  while (auto message = receive(socket)) {
    Gone gone(socket);
    const StopScope scope([&gone] { return gone(); });
    try {
      const Reply reply = reply_to_message(*message);
      if (!send(socket, reply.text, reply.memory.descriptor())) return;
    } catch (const Stopped&) {
      if (gone()) return;
      if (!send(socket, failure("stopped", "the work was interrupted").text, -1)) return;
    }
    give_memory_back();
    if (message->too_long > 0) return;  // what follows is its text, which nobody reads
  }
}

}  // namespace assay::serve
