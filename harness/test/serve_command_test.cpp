// assay serve, over a socket as a program does it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>

#include "command_line_fixture.h"
#include "harness/serve/channel.h"
#include "harness/serve/serve.h"

namespace assay::serve {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// A server and the other end of its socket.
class Served {
 public:
  Served() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw std::runtime_error("socketpair");
    ours_ = Descriptor(ends[0]);
    Descriptor theirs(ends[1]);
    const std::string number = std::to_string(theirs.get());
    process_ = fork();
    if (process_ == 0) {
      fcntl(theirs.get(), F_SETFD, 0);
      execl(ASSAY_PROGRAM, ASSAY_PROGRAM, "serve", "--socket", number.c_str(), nullptr);
      _exit(127);
    }
  }
  ~Served() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  int socket() const { return ours_.get(); }
  json answer() {
    auto message = receive(socket());
    if (!message) return nullptr;
    memory_ = std::move(message->memory);
    return json::parse(message->text);
  }
  json ask(const std::string& text, int memory = -1) {
    return send(socket(), text, memory) ? answer() : json(nullptr);
  }
  // How it ends where nobody asks any more.
  int end() {
    ours_.close();
    int status = 0;
    waitpid(std::exchange(process_, 0), &status, 0);
    return status;
  }
  std::vector<float> floats(std::size_t offset, std::size_t n) const {
    std::vector<float> all(n);
    const auto size = static_cast<ssize_t>(n * sizeof(float));
    EXPECT_EQ(pread(memory_.get(), all.data(), n * sizeof(float), static_cast<off_t>(offset)), size);
    return all;
  }

 private:
  Descriptor ours_, memory_;
  pid_t process_ = 0;
};

Descriptor memory_of(const std::vector<float>& numbers) {
  Descriptor file(memfd_create("test", MFD_CLOEXEC));
  const auto size = static_cast<ssize_t>(numbers.size() * sizeof(float));
  EXPECT_EQ(pwrite(file.get(), numbers.data(), numbers.size() * sizeof(float), 0), size);
  return file;
}

std::string f32(int n, int first = 0) {
  return fmt::format(R"({{"tensor": {{"dtype": "f32", "shape": [{}], "offset": {}}}}})", n, 4 * first);
}
// relu of the first three numbers, whose result is the next three.
std::string of_relu(const std::string& what, const std::string& more = "") {
  return fmt::format(R"({{"do": "{}", "op": "relu", "arguments": [{}], "results": [{}]{}}})", what, f32(3),
                     f32(3, 3), more);
}

TEST(ServeCommand, AnswersOneRequestAfterTheOther) {
  Served served;
  EXPECT_EQ(served.answer()["format"], kServeFormat);
  const Descriptor right = memory_of({1, -2, 3, 1, 0, 3}), wrong = memory_of({1, -2, 3, 1, 2, 3});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(served.ask(of_relu("judge"), right.get())["verdict"], "pass");
    const json j = served.ask(of_relu("judge", R"(, "seconds": 10)"), wrong.get());
    EXPECT_EQ(j["verdict"], "diverged");
    EXPECT_EQ(j["outputs"][0]["mismatched"], 1);
    EXPECT_EQ(j["outputs"][0]["first"][0]["index"], json({1}));
    EXPECT_EQ(j["outputs"][0]["first"][0]["actual"], 2);
    EXPECT_EQ(j["outputs"][0]["first"][0]["text"], "out[1] is 2, but must be 0");
    EXPECT_EQ(j["diagnosis"]["diverging"], 1);
  }
  EXPECT_EQ(served.ask(of_relu("diagnose", R"(, "seconds": 10)"), right.get())["diagnosis"]["certainty"],
            "none");
  EXPECT_EQ(served.ask(of_relu("judge"), memory_of({1, -2, 3, 0, 0, 0}).get())["outputs"][0]["mismatched"],
            2);
  EXPECT_EQ(served.ask(of_relu("judge"), memory_of({0, 0, 0, 0, 0, 0}).get())["verdict"], "vacuous");
  const json bounds = served.ask(of_relu("bounds"), right.get())["outputs"][0];
  EXPECT_EQ(served.floats(bounds["value"]["offset"], 3), (std::vector<float>{1, 0, 3}));
  EXPECT_EQ(served.floats(bounds["high"]["offset"], 3), (std::vector<float>{1, 0, 3}));
  const std::string both = fmt::format(R"({{"do": "diff", "results": [{}, {}]}})", f32(3), f32(3, 3));
  EXPECT_EQ(served.ask(both, right.get())["same"], false);
  EXPECT_EQ(served.end(), 0);
}

TEST(ServeCommand, TellsWhatItKnowsOfOperators) {
  Served served;
  served.answer();
  EXPECT_GT(served.ask(R"({"do": "operators"})")["operators"].size(), 50u);
  const json mm = served.ask(R"({"do": "operators", "op": "aten::mm"})");
  EXPECT_EQ(mm["operator"]["schema"], "mm(Tensor self, Tensor mat2) -> Tensor");
  EXPECT_GT(mm["contract_fields"].size(), 20u);
  EXPECT_EQ(served.ask(R"({"do": "operators", "op": "mmm"})")["kind"], "operator");
}

// Each is answered, and the next request, too.
TEST(ServeCommand, AnErrorEndsNothing) {
  Served served;
  served.answer();
  const Descriptor memory = memory_of({1, -2, 3, 1, 0, 3});
  const auto kind = [&](const std::string& text, int descriptor) {
    const json answer = served.ask(text, descriptor);
    EXPECT_EQ(served.ask(of_relu("judge"), memory.get())["verdict"], "pass") << text;
    return answer["kind"].get<std::string>();
  };
  EXPECT_EQ(kind("", -1), "protocol");
  EXPECT_EQ(kind("{", memory.get()), "protocol");
  EXPECT_EQ(kind(std::string(4096, '\0'), -1), "protocol");
  EXPECT_EQ(kind(std::string(1 << 20, '['), -1), "protocol");
  EXPECT_EQ(kind(of_relu("judge"), -1), "tensor") << "no memory came";
  EXPECT_EQ(kind(of_relu("judge", R"(, "contract": "exp=no")"), memory.get()), "contract");
  EXPECT_EQ(kind(R"({"do": "judge", "op": "mm", "arguments": []})", -1), "argument");
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const Descriptor reads(pipe_ends[0]), writes(pipe_ends[1]);
  EXPECT_EQ(kind(of_relu("judge"), reads.get()), "protocol") << "a pipe is no memory";
  EXPECT_EQ(
      kind(fmt::format(R"({{"do": "bounds", "op": "relu", "arguments": [{}]}})",
                       R"({"tensor": {"dtype": "f32", "shape": [1000000, 1000000], "strides": [0, 0]}})"),
           memory.get()),
      "memory");
  // What was there when it was asked, and is no more when it is read.
  const Descriptor cut = memory_of({1, -2, 3, 1, 0, 3});
  ASSERT_EQ(ftruncate(cut.get(), 8), 0);
  EXPECT_EQ(kind(of_relu("judge"), cut.get()), "tensor");
}

TEST(ServeCommand, EndsWithItsSocket) {
  Served at_once;
  EXPECT_EQ(at_once.end(), 0);
  Served in_a_header;
  in_a_header.answer();
  ASSERT_EQ(write(in_a_header.socket(), "\5\0\0", 3), 3);
  EXPECT_EQ(in_a_header.end(), 0);
  Served in_a_text;
  in_a_text.answer();
  ASSERT_EQ(write(in_a_text.socket(), "\5\0\0\0\0\0\0\0{\"", 10), 10);
  EXPECT_EQ(in_a_text.end(), 0);
  Served too_long;
  too_long.answer();
  ASSERT_EQ(write(too_long.socket(), "\xff\xff\xff\xff\xff\xff\xff\xff", 8), 8);
  EXPECT_EQ(too_long.answer()["kind"], "protocol");
  EXPECT_EQ(too_long.end(), 0);
}

// It does not finish what nobody waits for: bounds of ten million sums would take minutes.
TEST(ServeCommand, StopsWhereNobodyWaits) {
  Served served;
  served.answer();
  const Descriptor memory = memory_of({1});
  const std::string x = R"({"tensor": {"dtype": "f32", "shape": [4096, 4096], "strides": [0, 0]}})";
  ASSERT_TRUE(send(served.socket(),
                   fmt::format(R"({{"do": "bounds", "op": "softmax", "arguments": [{}, 1]}})", x),
                   memory.get()));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(served.end(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(kSanitized ? 60 : 10));
}

class ServeUsage : public CommandLine {};

TEST_F(ServeUsage, NeedsASocket) {
  expect_usage_error(assay({"serve"}), "--socket");
  expect_usage_error(assay({"serve", "--socket", "0"}), "is no stream socket of the family AF_UNIX");
  expect_usage_error(assay({"serve", "--socket", "77"}), "programs start `assay serve`, not people");
}

}  // namespace
}  // namespace assay::serve
