#include "python_kernel.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "graph/graph.h"
#include "installed.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = ".py";
constexpr std::string_view kProgram = "ASSAY_PROGRAM=";
constexpr char kSeparator = '\x1e';  // of schemas, some of which have several lines

bool is_name(std::string_view text, std::string_view besides) {
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c >= 0x80 ||
           besides.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// "silu" and "my.py:silu" of "silu=my.py:silu".
std::pair<std::string_view, std::string_view> divided(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || !is_name(text.substr(0, equals), ".:")) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// "my.py" of "my.py:silu"; of a module its name.
std::string_view file_of(std::string_view place) { return place.substr(0, place.rfind(':')); }

bool names_python(std::string_view place) {
  const std::string_view file = file_of(place);
  if (file.ends_with(kFile) || place.ends_with(kFile)) return true;
  return file.size() < place.size() && is_name(file, ".") && is_name(place.substr(file.size() + 1), ".,");
}

// Where the package `assay` of Python lies: around the program, where it is installed, or beside the scripts of a source tree.
std::string package_folder(const std::string& program) {
  const fs::path installed = fs::path(program).parent_path().parent_path();
  if (fs::exists(installed / "_worker.py")) return installed.parent_path().string();
  return data_file(program, "harness/python");
}

std::string interpreter() {
  if (const char* const named = std::getenv("ASSAY_PYTHON"); named != nullptr && *named != 0) {
    if (access(named, X_OK) != 0)
      throw std::runtime_error(fmt::format("ASSAY_PYTHON={}: {}", named, std::strerror(errno)));
    return named;
  }
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string file = (folder.empty() ? "." : folder) + "/python3";
        access(file.c_str(), X_OK) == 0)
      return file;
  throw std::runtime_error("there is no python3 on PATH; ASSAY_PYTHON=/path/to/python3 names one");
}

// Of a program text of Python.
std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return all + "'";
}

}  // namespace

std::optional<PythonKernel> python_kernel(std::string_view text) {
  const auto [op, place] = divided(text);
  if (!names_python(place)) return std::nullopt;
  return PythonKernel{std::string(op), std::string(place)};
}

std::string canonical(const PythonKernel& kernel) {
  std::string place = kernel.place;
  const bool whole = place.ends_with(kFile);
  const std::string file(whole ? std::string_view(place) : file_of(place));
  if (file.ends_with(kFile)) {
    std::error_code ignored;
    place =
        fs::absolute(file, ignored).lexically_normal().string() + (whole ? "" : place.substr(file.size()));
  }
  return kernel.op.empty() ? place : kernel.op + "=" + place;
}

bool is_of_python(std::string_view variable) { return variable.starts_with(kProgram); }

Environment python_program(std::string_view text, const std::string& program, const std::string& other) {
  Environment e;
  e.program = other.empty() ? interpreter() : other;
  e.variables = {std::string(kProgram) + program};
  e.before = {"-c",
              fmt::format("import sys; sys.path.append({}); {}", quoted(package_folder(program)), text)};
  return e;
}

Environment python_environment(const PythonKernel& kernel, std::span<const Operator* const> among,
                               const std::string& program) {
  Environment e;
  e.arguments = {"--schema", ""};
  for (const Operator* op : among) {
    if (!e.arguments.back().empty()) e.arguments.back() += kSeparator;
    e.arguments.back() += op->graph != nullptr ? op->graph->text : op->schema.text;
  }
  e.arguments.insert(e.arguments.end(), {"--python", canonical(kernel)});
  // Libraries under Python start threads as they are loaded, of which a forked process has none.
  for (const char* const variable : {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"})
    if (std::getenv(variable) == nullptr) e.variables.push_back(fmt::format("{}=1", variable));
  if (const char* const socket = std::getenv("ASSAY_PYTHON_SOCKET"); socket != nullptr && *socket != 0) {
    e.program = fmt::format("@{}", socket);
    return e;
  }
  Environment started = python_program("from assay._worker import main; main()", program);
  started.arguments = std::move(e.arguments);
  started.variables.insert(started.variables.end(), e.variables.begin(), e.variables.end());
  return started;
}

}  // namespace assay
