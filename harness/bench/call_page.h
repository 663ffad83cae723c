// Which kernel a timing process is running, in memory that the harness has, too: that is known whatever ends the process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "../run/descriptor.h"
#include "../run/protocol.h"

namespace assay {

struct CallPage {
  std::atomic<std::uint32_t> kernel{kNothing};  // that is running: its number in the open group
  std::atomic<std::uint32_t> number{0};         // how many calls, or batches of them, have begun
  std::atomic<double> seconds{0};               // that this one may take; 0: no limit
  std::atomic<bool> late{false};                // it took longer, and the process ended itself
  std::atomic<std::uint32_t> forker{kNothing};  // the kernel that forked and whose child returned
  Crash crash{};                                // for ForkWatch
};

// The harness's. It is sent to the process as the first thing on the socket.
class SharedCallPage {
 public:
  SharedCallPage();  // throws std::system_error
  ~SharedCallPage();
  SharedCallPage(const SharedCallPage&) = delete;
  SharedCallPage& operator=(const SharedCallPage&) = delete;

  void send(int socket) const;  // throws std::system_error
  const CallPage& operator*() const { return *page_; }
  const CallPage* operator->() const { return page_; }

 private:
  Descriptor file_;
  CallPage* page_ = nullptr;
};

// One byte, and with it the descriptor that the process's forbidden calls are read from (forbidden.h), which is closed here; -1: none.
bool send_listener(int socket, int listener);
// What came of a message into `bytes`, as recv gives it; a descriptor that came with it replaces `listener`.
ssize_t receive_with_listener(int socket, std::span<char> bytes, Descriptor& listener);

// The process's, which stays; nullptr if none is sent.
CallPage* receive_call_page(int socket);

}  // namespace assay
