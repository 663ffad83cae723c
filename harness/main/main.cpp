// The `assay` program: the command line, and the worker processes it starts from itself.
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "../bench/timer.h"
#include "../graph/graph_file.h"
#include "../plugin/load.h"
#include "../registry/parts.h"
#include "../run/lane.h"
#include "../variants/variant.h"
#include "../verify/verify.h"
#include "commands.h"
#include "help.h"
#include "interrupt.h"
#include "kept_run.h"
#include "reports/file.h"
#include "reports/text.h"
#include "terminal.h"
#include "vocabulary/case.h"
#include "vocabulary/operators.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

// The kernels of a worker: those of the plugin named on its command line, the variants of the self-test, or the built-in
// ones.
WorkerTable worker_table(std::span<const std::string> arguments) {
  WorkerTable table;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--plugin" && i + 1 < arguments.size()) return load_plugin_table(arguments[i + 1]);
    if (arguments[i] == kVariantsFlag) {
      take_passed_graphs();
      return variants_table();
    }
  }
  for (const EnrolledKernel& e : enrolled_kernels()) table.kernels.push_back(e.kernel);
  return table;
}

// What a shell reports of who is ended by a pipe that nobody reads: how the command would have ended is not known.
constexpr int kBrokenPipe = 141;

std::vector<std::string> given_words;

bool is_worker(int argc, char** argv) { return argc > 1 && std::strcmp(argv[1], "worker") == 0; }

int run_command(const Command& command) {
  catch_interrupts(kEndsAtOnce);  // commands that have something to write then ask for more time
  const StopScope scope([] { return interrupted().load(); });
  try {
    return command();
  } catch (const Stopped&) {
    complain("interrupted");
    return kInterrupted;
  } catch (const UsageError& e) {
    complain(e.what());
    return kWrongUsage;
  } catch (const CaseError& e) {
    complain(e.what());
    return kWrongUsage;
  } catch (const NothingToRun& e) {
    complain(e.what());
    return kEnvironment;
  } catch (const SelectionError& e) {
    complain(e.what());
    return kWrongUsage;
  } catch (const FileError& e) {
    complain(e.what());
    return kWrongUsage;
  } catch (const NotBuilt& e) {
    complain(e.what());
    return kEnvironment;
  } catch (const RegistryError& e) {
    complain(fmt::format("the registry is broken: {}", e.what()));
    return kEnvironment;
  } catch (const std::filesystem::filesystem_error& e) {  // of a path that was given
    complain(fmt::format("{}: {}", e.path1().string(), e.code().message()));
    return kWrongUsage;
  } catch (const std::system_error& e) {
    if (std::ferror(stdout) == 0) {
      complain(e.what());
      return kEnvironment;
    }
    errno = e.code().value();  // fmt::print: what printed() says
    return errno == EPIPE ? kBrokenPipe : kWrongUsage;
  } catch (const std::exception& e) {
    complain(e.what());
    return kEnvironment;
  }
}

// What CLI11 calls an unexpected argument, if it stands where a command does.
std::string unknown_command(const CLI::App& app, std::string_view word) {
  std::string nearest;
  std::size_t least = ~std::size_t{0};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word) return {};
    if (const std::size_t d = edit_distance(word, command->get_name());
        d < least && is_near(word, command->get_name())) {
      least = d;
      nearest = command->get_name();
    }
  }
  return fmt::format(
      "there is no command \"{}\"{} (`assay --help` lists them)", word,
      nearest.empty() ? "" : fmt::format("; the nearest is \"{0}\": did you mean `assay {0}`?", nearest));
}

// What was printed may not have arrived: no success then.
int printed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  if (errno == EPIPE) return code;  // who reads has seen enough
  fmt::print(stderr, "assay: cannot write standard output: {}\n", std::strerror(errno));
  return code == kFaultFound ? code : kWrongUsage;
}

}  // namespace

const std::vector<std::string>& command_line() { return given_words; }

std::string this_program() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) throw std::runtime_error(fmt::format("cannot read /proc/self/exe: {}", std::strerror(errno)));
  return std::string(path, static_cast<std::size_t>(n));
}

namespace {

// "fp32", "float32" and "float" are f32 elsewhere.
std::optional<Dtype> meant_dtype(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kWords{
      {{"half", "f16"}, {"float", "f32"}, {"double", "f64"}, {"int", "i32"}, {"long", "i64"}}};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kPrefixes{
      {{"bfloat", "bf"}, {"float", "f"}, {"fp", "f"}, {"uint", "u"}, {"int", "i"}}};
  std::string word;
  for (const char c : text) word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (const auto dtype = dtype_named(word)) return dtype;
  for (const auto& [theirs, ours] : kWords)
    if (word == theirs) return dtype_named(ours);
  for (const auto& [theirs, ours] : kPrefixes)
    if (word.starts_with(theirs)) return dtype_named(std::string(ours) + word.substr(theirs.size()));
  return std::nullopt;
}

}  // namespace

std::vector<Dtype> parse_dtypes(const std::vector<std::string>& names) {
  std::vector<Dtype> dtypes;
  for (const std::string& n : names) {
    const std::optional<Dtype> dtype = dtype_named(n);
    if (!dtype) {
      const std::optional<Dtype> meant = meant_dtype(n);
      throw UsageError(fmt::format(
          "--dtype {}: not a dtype{}", n,
          meant ? fmt::format("; did you mean {}?", name(*meant)) : std::string(" (f64 f32 f16 bf16 ...)")));
    }
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

std::unique_ptr<Registry> load_registry(const std::vector<std::string>& plugins, bool with_torch,
                                        const About& about) {
  auto registry = std::make_unique<Registry>(this_program());
  const auto add = [&](const std::string& plugin, std::span<const Operator* const> operators) {
    try {
      registry->add_plugin(plugin, operators);
    } catch (const RegistryError& e) {
      throw UsageError(fmt::format("--plugin {}: {}", plugin, e.what()));
    }
  };
  std::vector<std::string> of_python;
  for (auto plugin = plugins.begin(); plugin != plugins.end(); ++plugin) {
    if (std::find(plugins.begin(), plugin, *plugin) != plugin)
      throw UsageError(fmt::format("--plugin {} is given twice", *plugin));
    if (python_kernel(*plugin))
      of_python.push_back(*plugin);
    else
      add(*plugin, {});
  }
  if (!of_python.empty()) {
    const std::vector<const Operator*> operators = about ? about() : std::vector<const Operator*>{};
    for (const std::string& plugin : of_python) add(plugin, operators);
  }
  if (with_torch) registry->add_torch();
  return registry;
}

int assay_main(int argc, char** argv) {
  // A terminal that closes tells all its processes: those of the kernels end with the harness, which reports what was done.
  if (is_timer(argc, argv) || is_worker(argc, argv)) std::signal(SIGHUP, SIG_IGN);
  if (is_timer(argc, argv)) return timer_main(argc, argv, [] { return TimedTable{}; });
  if (is_worker(argc, argv)) return worker_main(argc, argv, worker_table);
  // What cannot be written is an error that says which file and why.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  given_words = with_joined_resume({argv, argv + argc});

  CLI::App app{"Assay proves that fast operator kernels are right, and says why when they are not.", "assay"};
  app.formatter(help_formatter());  // which commands inherit
  app.footer(
      "Exit codes: 0 all well; 1 a fault was found; 2 wrong usage, unreadable input, or output that cannot be written;\n"
      "3 the environment lacks what was asked for, something could not be run, or nothing ran; 130 interrupted.\n"
      "`assay COMMAND --help` explains a command. Start with `assay verify`.");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", version_text, "version, compiler, libraries, ISA levels, devices");
  Command chosen;
  add_verify(app, chosen);
  add_replay(app, chosen);
  add_explain(app, chosen);
  add_bounds(app, chosen);
  add_ops(app, chosen);
  add_merge(app, chosen);
  add_selftest(app, chosen);
  add_diff(app, chosen);
  add_diagnose(app, chosen);
  add_record(app, chosen);
  add_graph(app, chosen);
  add_kernelbench(app, chosen);
  add_bisect(app, chosen);
  add_bench(app, chosen);
  add_compare(app, chosen);
  add_history(app, chosen);
  add_report(app, chosen);
  add_serve(app, chosen);
  // An unset variable in a script is no wish for everything.
  for (CLI::App* command : app.get_subcommands({}))
    for (CLI::Option* option : command->get_options())
      if (option->get_type_size() != 0)
        option->check([](const std::string& text) { return text.empty() ? "is empty" : std::string(); });
  if (argc > 1 && argv[1][0] != '-')
    if (const std::string why = unknown_command(app, argv[1]); !why.empty()) {
      complain(why);
      return kWrongUsage;
    }
  try {
    app.parse(std::vector<std::string>(given_words.rbegin(),
                                       given_words.rend() - 1));  // which it takes from the end
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) {
      complain(usage_error(app, e));
      return printed(kWrongUsage);
    }
    std::ostringstream ignored;
    app.exit(e, std::cout, ignored);
    return printed(kAllWell);
  } catch (const UsageError& e) {  // of a graph, which is read as the command line is
    complain(e.what());
    return printed(kWrongUsage);
  }
  if (!chosen) {
    fmt::print("{}", app.help());
    return printed(argc > 1 ? kWrongUsage : kAllWell);
  }
  // The launcher asks so before it builds a part for minutes.
  if (std::getenv("ASSAY_ONLY_PARSE") != nullptr) return kAllWell;
  return printed(run_command(chosen));
}

}  // namespace assay

int main(int argc, char** argv) {
  try {
    return assay::assay_main(argc, argv);
  } catch (const std::exception& e) {
    assay::complain(e.what());
    return assay::kEnvironment;
  }
}
