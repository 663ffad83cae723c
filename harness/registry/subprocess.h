// Runs a program to its end and keeps what it prints.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace assay {

struct Finished {
  int status = 0;       // exit status, or 128 + signal
  bool started = true;  // false: the program could not be started, and `err` says why
  bool late = false;    // it had not ended within the limit, and was killed
  std::string out;
  std::string err;
};

// variables are NAME=VALUE, added to (and overriding) the inherited environment. Standard input is empty. Without a limit it waits
// for ever, but never for what the program leaves running. Throws Stopped where a StopScope ends the wait; the program is killed then.
Finished run_program(const std::string& program, const std::vector<std::string>& arguments,
                     const std::vector<std::string>& variables = {},
                     std::optional<std::chrono::seconds> limit = {});

}  // namespace assay
