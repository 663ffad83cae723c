// What `assay verify` was asked for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "../verify/verify.h"
#include "kept_run.h"

namespace assay {

struct VerifyFlags {
  VerifyOptions options;
  std::vector<std::string> dtypes;
  std::string only;
  std::string list;
  std::string fixtures;
  std::string time;
  std::string shard = "1/1";
  std::vector<std::string> plugins;
  std::vector<std::string> variables;
  std::string json;
  std::string junit;
  std::string html;
  std::string out;
  double timeout = 10;
  bool check = false;
  bool thorough = false;
  bool classes = false;
  bool coverage = false;
  std::string sanitize;
  ResumeFlag resume;
  CLI::Option* cases = nullptr;
  CLI::Option* contract = nullptr;
  CLI::Option* timeout_given = nullptr;
};

// Runs what was asked for, and writes what came of it. Returns the exit code; throws UsageError for flags that do not go together.
int verify_command(VerifyFlags& flags);

}  // namespace assay
