#include "bisect_made.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "../registry/python_kernel.h"
#include "../registry/subprocess.h"
#include "commands.h"
#include "interrupt.h"
#include "kept_run.h"
#include "record_said.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "reports/text.h"
#include "terminal.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kProgram = ".py", kOnnxRuntime = "onnxruntime", kOpenVino = "openvino", kNcnn = "ncnn";
constexpr std::array<std::string_view, 4> kModels{".onnx", ".xml", ".param", ".pt"};

bool is_function(std::string_view text) { return text.find(".py:") != std::string_view::npos; }

// "onnxruntime" of an engine or of a model's file: what its files are called.
std::string stem_of(const std::string& engine, const std::string& model) {
  if (!engine.empty()) {
    const std::string name = is_function(engine) ? fs::path(engine).filename().string() : engine;
    std::string stem;
    for (const char c : name) stem += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return stem;
  }
  const std::string ending = fs::path(model).extension().string();
  return std::string(ending == ".onnx" ? kOnnxRuntime : ending == ".xml" ? kOpenVino : kNcnn);
}

std::string engine_python() {
  const char* const named = std::getenv("ASSAY_ENGINE_PYTHON");
  return named != nullptr && *named != 0 ? named : torch_python();
}

void say(const std::string& path, std::string_view what) { fmt::print(stderr, "{}: {}\n", printable(path), what); }

// What is known to be wrong before the program runs, which may take long, and before its earlier recording is replaced.
void check_engine(const std::string& dump, const MadeFlags& flags) {
  const auto is_named = [&](std::string_view name) { return flags.engine == name; };
  constexpr std::array<std::string_view, 3> kEngines{kOnnxRuntime, kOpenVino, kNcnn};
  if (!flags.engine.empty() && flags.engine.find(':') == std::string::npos &&
      std::ranges::none_of(kEngines, is_named))
    throw UsageError(fmt::format("--engine {}: is none of {}, and no FILE.py:FUNCTION or package.module:FUNCTION",
                                 flags.engine, fmt::join(kEngines, ", ")));
  if (!dump.empty() && !is_function(dump) && !fs::is_regular_file(dump))
    throw UsageError(fmt::format("{}: there is no such file", dump));
  for (const std::string& input : flags.inputs)
    if (const std::size_t at = input.find('='); at != std::string::npos && !fs::is_regular_file(input.substr(at + 1)))
      throw UsageError(fmt::format("--input {}: there is no such file", input));
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

}  // namespace

bool is_program(const std::string& trace) { return trace.ends_with(kProgram); }

bool is_model(const std::string& dump) {
  return is_function(dump) || std::ranges::any_of(kModels, [&](std::string_view e) { return dump.ends_with(e); });
}

MadeFiles::MadeFiles(const std::string& trace, const std::string& dump, const MadeFlags& flags) : flags_(flags) {
  files_.trace = trace;
  files_.dump = dump;
  const bool records = is_program(trace), runs = is_model(dump) || !flags.engine.empty();
  if (!records && !runs) {
    if (flags.any_of_engine())
      throw UsageError(fmt::format("{} is a dump: --input and --option are for an engine that is run", dump));
    return;
  }
  if (!is_of_caller(trace) && !fs::is_regular_file(trace))
    throw UsageError(fmt::format("{} is no file: name a Python program, or what `assay record` wrote", trace));
  if (dump.empty() && !records)
    throw UsageError(fmt::format("--engine {}: name the model's file after {}; of a program alone it could be made", flags.engine, trace));
  if (runs) check_engine(dump, flags);
  take_folder(fs::path(is_of_caller(trace) ? trace.substr(1) : trace).stem().string());
  std::string model = is_function(dump) ? "" : dump;
  if (records) {
    if (dump.empty() && !flags.engine.starts_with(kNcnn) && !is_function(flags.engine))
      model = in_folder("model.onnx");
    else if (dump.empty() && flags.engine.starts_with(kNcnn))
      model = in_folder("model.pt");
    record_program(trace, model == dump ? "" : model);
    if (files_.ended) return;
  }
  if (runs) run_engine(model);
}

MadeFiles::~MadeFiles() {
  if (lock_ < 0) return;
  remove_parts();
  ::rmdir(folder_.c_str());  // if nothing was made
  ::close(lock_);
}

void MadeFiles::take_folder(const std::string& name) {
  for (int number = 1;; ++number) {
    folder_ = fmt::format("{}/bisect-{}{}", default_folder(), name, number == 1 ? "" : fmt::format("-{}", number));
    std::error_code error;
    fs::create_directories(folder_, error);
    lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ < 0) throw FileError(fmt::format("cannot create the folder {}: {}", folder_, error.message()));
    if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) break;
    ::close(lock_);
    lock_ = -1;
  }
  remove_parts();
}

// Of runs that were killed, and of an engine that was.
void MadeFiles::remove_parts() const {
  std::error_code error;
  for (const fs::directory_entry& e : fs::directory_iterator(folder_, error))
    if (e.path().extension() == ".part") remove_file(e.path().string());
}

// A dump of an earlier run is of another trace.
void MadeFiles::remove_earlier() const {
  std::error_code error;
  for (const fs::directory_entry& e : fs::directory_iterator(folder_, error))
    if (e.path().filename() == "trace.h5" || e.path().extension() == ".safetensors" || e.path().filename().string().ends_with(".nodes.json"))
      remove_file(e.path().string());
}

void MadeFiles::record_program(const std::string& script, const std::string& exported) {
  remove_earlier();
  RecordOptions options;
  options.script = script;
  options.arguments = flags_.arguments;
  options.trace = in_folder("trace.h5");
  // Of a dump that was written by hand, nobody knows of which call it is.
  options.call = is_model(files_.dump) || !flags_.engine.empty() ? flags_.call : 0;
  options.exported = exported;
  options.apart = true;
  if (flags_.limit) options.limit = *flags_.limit;
  const auto registry = load_registry({}, true);
  RecordSummary s;
  try {
    s = record(*registry, options);
  } catch (const CannotRecord& e) {
    complain(e.what());
    files_.ended = kEnvironment;
    return;
  }
  const bool interrupted_too = s.exit == kInterrupted || s.signalled || interrupted();
  if (s.kept && s.exit == 0 && s.lost.empty() && s.recorded > 0 && s.not_exported.empty() && !interrupted_too) {
    say_recorded(s, options);
    files_.trace = options.trace;
    if (!exported.empty() && !fs::exists(exported)) {
      remove_file(options.trace);
      throw UsageError(fmt::format("{} was not written: {} ended by os._exit or in another process", exported, script));
    }
    if (!exported.empty()) say(exported, "the model, exported");
    return;
  }
  remove_file(options.trace);
  if (!s.copy.empty()) remove_file(s.copy);
  if (interrupted_too) {
    complain("interrupted");
    files_.ended = kInterrupted;
    return;
  }
  if (!s.kept)
    throw UsageError(fmt::format("{} ended with {}{}, and no trace was written", script, s.exit,
                                 s.exit > 128 ? fmt::format(" (signal {})", s.exit - 128) : ""));
  if (!s.lost.empty()) throw UsageError(fmt::format("cannot write {}: {}", options.trace, s.lost));
  if (s.exit != 0)
    throw UsageError(fmt::format("{} ended with {}, as it says above: it must run by itself (its arguments come after --)", script, s.exit));
  if (options.call > 0 && s.outermost.size() < options.call && s.recorded == 0) throw UsageError(no_such_call(s, options));
  if (s.recorded == 0) {
    say_recorded(s, options);
    throw UsageError(fmt::format("nothing of {} was recorded, so that there is nothing to compare", script));
  }
  throw UsageError(fmt::format("the model of {} could not be exported to {}: {}; export it yourself, and name the file", script, exported,
                               s.not_exported));
}

void MadeFiles::run_engine(const std::string& model) {
  const std::string engine = is_function(files_.dump) ? files_.dump : flags_.engine;
  const std::string stem = in_folder(stem_of(engine, model)), dump = stem + ".safetensors", nodes = stem + ".nodes.json";
  remove_file(dump);  // of an earlier run, beside which nothing of this one shall lie
  remove_file(nodes);
  const TemporaryFolder folder;
  write_file(folder.file("request.json"), json{{"engine", engine},
                                               {"model", model},
                                               {"trace", files_.trace},
                                               {"dump", dump},
                                               {"nodes", nodes},
                                               {"inputs", flags_.inputs},
                                               {"options", flags_.options},
                                               {"arguments", flags_.arguments}}
                                              .dump());
  const std::string python = engine_python();
  const Environment started = python_program("from assay.engines.__main__ import main; main(*sys.argv[1:])", this_program(), python);
  std::vector<std::string> words = started.before;
  words.insert(words.end(), {folder.file("request.json"), folder.file("report.json")});
  Finished f;
  {
    ProgressLine line;
    line.show(fmt::format("running {}", engine.empty() ? model : engine));
    f = run_program(started.program, words, started.variables);
  }
  fmt::print(stderr, "{}", printable_lines(f.out));
  if (!fs::exists(folder.file("report.json"))) {
    fmt::print(stderr, "{}", printable_lines(f.err));
    if (const Finished needs = run_program(python, {"-c", "import numpy"}); needs.status != 0) {
      complain(fmt::format("running an engine needs NumPy for {} (apt install python3-numpy, or pip install numpy; or name another interpreter "
                           "by ASSAY_ENGINE_PYTHON)",
                           python));
      files_.ended = kEnvironment;
      return;
    }
    throw UsageError(fmt::format("the engine ended Python with {}{}", f.status,
                                 f.status > 128 ? fmt::format(" (signal {})", f.status - 128) : ""));
  }
  const json said = json::parse(read_file(folder.file("report.json")));
  if (said.contains("error")) {
    fmt::print(stderr, "{}", printable_lines(f.err));
    if (!said.at("missing").get<bool>()) throw UsageError(said.at("error").get<std::string>());
    complain(said.at("error").get<std::string>());
    files_.ended = kEnvironment;
    return;
  }
  say(dump, said.at("said").get<std::string>());
  for (const json& note : said.at("notes"))
    fmt::print(stderr, "{}", paragraph(note.get<std::string>() + ".", "  ", "  "));
  files_.dump = dump;
  files_.nodes = nodes;
}

}  // namespace assay
