#include "call_page.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace assay {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

CallPage* map(int file) {
  void* const here = mmap(nullptr, sizeof(CallPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return here == MAP_FAILED ? nullptr : static_cast<CallPage*>(here);
}

// A message of one byte, with room for a descriptor.
struct Message {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};

  Message() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = room;
    header.msg_controllen = sizeof room;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

}  // namespace

SharedCallPage::SharedCallPage() : file_(memfd_create("assay-calls", MFD_CLOEXEC)) {
  if (!file_ || ftruncate(file_.get(), sizeof(CallPage)) != 0) fail("cannot make a memory file");
  page_ = map(file_.get());
  if (page_ == nullptr) fail("cannot map a memory file");
  new (page_) CallPage;
}

SharedCallPage::~SharedCallPage() { munmap(page_, sizeof(CallPage)); }

void SharedCallPage::send(int socket) const {
  Message message;
  cmsghdr* const header = CMSG_FIRSTHDR(&message.header);
  const int file = file_.get();
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &message.header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent != 1) fail("cannot send a descriptor");
}

bool send_listener(int socket, int listener) {
  Message message;
  message.byte = '\n';
  if (listener >= 0) {
    cmsghdr* const header = CMSG_FIRSTHDR(&message.header);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof listener);
    std::memcpy(CMSG_DATA(header), &listener, sizeof listener);
  } else {
    message.header.msg_control = nullptr;
    message.header.msg_controllen = 0;
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &message.header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  const Descriptor closed(listener);
  return sent == 1;
}

ssize_t receive_with_listener(int socket, std::span<char> bytes, Descriptor& listener) {
  Message message;
  message.part = {bytes.data(), bytes.size()};
  const ssize_t n = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  const cmsghdr* const header = n > 0 ? CMSG_FIRSTHDR(&message.header) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return n;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof file);
  if (listener)
    const Descriptor closed(file);  // a kernel can send some, too
  else
    listener = Descriptor(file);
  return n;
}

CallPage* receive_call_page(int socket) {
  Message message;
  ssize_t n = -1;
  do {
    n = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  const cmsghdr* const header = n == 1 ? CMSG_FIRSTHDR(&message.header) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return nullptr;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof file);
  const Descriptor closed(file);
  return map(file);
}

}  // namespace assay
