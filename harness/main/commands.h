// The commands of `assay`, one file each. A command adds its options to the application when the program starts and
// runs after parsing; what it returns is the exit code.
//
// Exit codes: 0 all well; 1 a fault was found; 2 wrong usage or unreadable input, or what cannot be written; 3 the
// environment lacks what was asked for, or nothing ran; 130 interrupted.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../registry/registry.h"

namespace assay {

inline constexpr int kAllWell = 0;
inline constexpr int kFaultFound = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kEnvironment = 3;
inline constexpr int kInterrupted = 130;

// Wrong usage: the message says which argument, which value, and what to do.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Command = std::function<int()>;

// Each adds one subcommand and sets `chosen` when it was given on the command line.
void add_verify(CLI::App& app, Command& chosen);
void add_replay(CLI::App& app, Command& chosen);
void add_explain(CLI::App& app, Command& chosen);
void add_bounds(CLI::App& app, Command& chosen);
void add_ops(CLI::App& app, Command& chosen);
void add_merge(CLI::App& app, Command& chosen);
void add_selftest(CLI::App& app, Command& chosen);
void add_diff(CLI::App& app, Command& chosen);
void add_diagnose(CLI::App& app, Command& chosen);
void add_record(CLI::App& app, Command& chosen);
void add_graph(CLI::App& app, Command& chosen);
void add_kernelbench(CLI::App& app, Command& chosen);
void add_bisect(CLI::App& app, Command& chosen);
void add_bench(CLI::App& app, Command& chosen);
void add_compare(CLI::App& app, Command& chosen);
void add_history(CLI::App& app, Command& chosen);
void add_report(CLI::App& app, Command& chosen);
void add_serve(CLI::App& app, Command& chosen);
// Of --dtype. Throws UsageError for one that is none.
std::vector<Dtype> parse_dtypes(const std::vector<std::string>& names);
// --version
std::string version_text();

// The words of this program's command line.
const std::vector<std::string>& command_line();

// Path of the running executable; workers are started from it.
std::string this_program();
// The registry with the plugins added; throws UsageError for a library that cannot be used. PyTorch is asked only if
// `with_torch`: it takes a second.
// `about` gives the operators that the command is about, one of which a function of Python is that does not say its own. It is asked when
// the graphs of all libraries are known.
using About = std::function<std::vector<const Operator*>()>;
std::unique_ptr<Registry> load_registry(const std::vector<std::string>& plugins, bool with_torch,
                                        const About& about = {});

}  // namespace assay
