#include "source_plugin.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "installed.h"
#include "reports/temporary_folder.h"
#include "subprocess.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Compiler {
  std::string_view variable, otherwise, flags_variable;
  std::vector<std::string> flags;
};

std::optional<Compiler> compiler_of(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  const std::vector<std::string> shared{"-O2", "-g", "-fPIC", "-shared"};
  if (extension == ".c") return Compiler{"CC", "cc", "CFLAGS", shared};
  if (extension == ".cc" || extension == ".cpp" || extension == ".cxx")
    return Compiler{"CXX", "c++", "CXXFLAGS", shared};
  if (extension == ".cu")
    return Compiler{"NVCC", "nvcc", "CXXFLAGS", {"-O2", "-g", "-Xcompiler", "-fPIC", "-shared"}};
  return std::nullopt;
}

std::string value_or(std::string_view variable, std::string_view otherwise) {
  const char* const value = std::getenv(std::string(variable).c_str());
  return value != nullptr && *value != 0 ? value : std::string(otherwise);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string headers_of(const std::string& program) {
  return is_installed(program) ? (fs::path(program).parent_path().parent_path() / "include").string()
                               : data_file(program, "cases/vocabulary");
}

}  // namespace

bool is_source(const std::string& path) { return compiler_of(path).has_value(); }

std::string compiled(const std::string& path, const std::string& program) {
  static std::mutex mutex;
  static const TemporaryFolder folder;
  static std::map<std::string, std::string> libraries;
  const std::lock_guard lock(mutex);
  const std::string source = fs::absolute(path).lexically_normal().string();
  if (const auto known = libraries.find(source); known != libraries.end()) return known->second;
  if (!fs::is_regular_file(source)) throw std::runtime_error(fmt::format("{}: there is no such file", path));
  const Compiler compiler = *compiler_of(path);
  // "ccache gcc" is a compiler, too.
  std::vector<std::string> words = words_of(value_or(compiler.variable, compiler.otherwise));
  const std::string started = words.front();
  words.erase(words.begin());
  words.insert(words.end(), compiler.flags.begin(), compiler.flags.end());
  const std::string library =
      folder.file(fmt::format("{}-{}.so", fs::path(path).stem().string(), libraries.size()));
  words.insert(words.end(), {"-I", headers_of(program)});
  for (const std::string& flag : words_of(value_or(compiler.flags_variable, ""))) words.push_back(flag);
  words.insert(words.end(), {"-o", library, source, "-lm"});
  const Finished f = run_program(started, words);
  if (!f.started)
    throw std::runtime_error(
        fmt::format("{}: it takes {}, which cannot be started ({}); {} names another compiler", path, started,
                    f.err, compiler.variable));
  if (f.status != 0)
    throw std::runtime_error(
        fmt::format("{}: {} ended with {}:\n{}{}", path, started, f.status, f.out, f.err));
  libraries.emplace(source, library);
  return library;
}

}  // namespace assay
