// Names and texts from files reach no terminal that they could steer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command_line_fixture.h"
#include "harness/diagnose/given.h"
#include "harness/tensors/layout.h"
#include "harness/trace/bisect.h"
#include "reports/text.h"
#include "tensors_bytes.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// A title for the window, an escape of two bytes and one of one byte, turned writing.
const std::string kHostile = "\x1b]0;x\x07\xC2\x9B|\x9B|\u202Etxt";

void expect_harmless(const std::string& text) {
  EXPECT_EQ(printable_lines(text), text);
  EXPECT_THAT(text, HasSubstr("txt")) << "what could be read is gone, too";
}

TEST(TerminalText, QuotesEscapeWhatIsNotReadable) {
  EXPECT_EQ(tensors::in_quotes("a\"\\\n"), R"("a\x22\x5c\x0a")");
  EXPECT_EQ(tensors::in_quotes(kHostile), R"("\x1b]0;x\x07\xc2\x9b|\x9b|\xe2\x80\xaetxt")");
  EXPECT_EQ(tensors::in_quotes("ä→"), "\"ä→\"");
  // Not cut inside of a character.
  EXPECT_EQ(tensors::in_quotes(std::string(199, 'a') + "ä"), "\"" + std::string(199, 'a') + "ä\"");
  EXPECT_EQ(tensors::in_quotes(std::string(199, 'a') + "ää"), "\"" + std::string(199, 'a') + "ä...\"");
}

TEST(TerminalText, WhatABisectionSaysIsHarmless) {
  using Status = BisectedCall::Status;
  Bisection b;
  for (const Status status : {Status::wrong, Status::parameters, Status::right, Status::no_reference,
                              Status::not_dumped, Status::not_judged}) {
    BisectedCall c;
    c.status = status;
    c.name = "n" + kHostile;
    c.op = "o" + kHostile;
    c.source = "s" + kHostile;
    c.dumped_as = kHostile + ", the only one";
    c.stored_as = "f16";
    c.computed_in = "f32";
    c.says = {"t" + kHostile};
    c.one_of = {{0, kHostile}};
    b.calls.push_back(c);
  }
  b.written = b.unused = b.unread = {kHostile};
  expect_harmless(to_text(b, Style(false)));
}

class TerminalTextOf : public CommandLine {};

TEST_F(TerminalTextOf, TensorsToChooseFrom) {
  const std::string header =
      R"({"\u001b]0;x\u0007\u202etxt":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
      R"("b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})";
  write_file(file("t.safetensors"), static_cast<char>(header.size()) + std::string(7, '\0') + header + "ab");
  const std::string error = error_of([&] { diagnose::read_tensor(file("t.safetensors")); });
  EXPECT_THAT(error, HasSubstr("has 2 tensors"));
  expect_harmless(error);
}

TEST_F(TerminalTextOf, ErrorsOfCommands) {
  const auto expect_error = [](const Finished& f) {
    EXPECT_EQ(f.status, 2);
    EXPECT_EQ(f.out, "");
    expect_harmless(f.err);
  };
  write_file(file("format.json"), R"({"format":"\u001b]0;x\u0007\u009b2J\u202etxt"})");
  expect_error(assay({"report", file("format.json")}));
  write_file(
      file("verdict.json"),
      R"({"format":"assay.run/1","command":[],"machine":{},"seed":1,"results":[{"op":"a","impl":"b","peer":false,)"
      R"("dtype":"f32","verdict":"\u001b]0;x\u0007txt"}]})");
  expect_error(assay({"report", file("verdict.json")}));
  write_file(file("key.json"),
             R"({"format":"assay.run/1","command":[],"machine":{"libraries":{"\u001b]0;x\u0007txt":1}}})");
  expect_error(assay({"report", file("key.json")}));
  write_file(file("a.npy"), npy("|u1", "(1,)", "a", false));
  write_file(file("map"), kHostile + " b\n" + kHostile + " c\n");
  expect_error(assay({"diff", file("a.npy"), file("a.npy"), "--map", file("map")}));
  // Names that a glob may find.
  expect_error(assay({"report", file("txt\x1b]0;x\x07.json")}));
  expect_error(assay({"report", file("key.json"), "--txt\x1b]0;x\x07"}));
  expect_error(assay({"txt\x1b]0;x\x07"}));
}

}  // namespace
}  // namespace assay
