#include "sanitized.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "../run/sanitizer_report.h"

namespace assay {
namespace {

constexpr std::string_view kOurOptions =
    "halt_on_error=1:atexit_sleep_ms=0:die_after_fork=0:report_thread_leaks=0";

// What the loader is to find of a library in others.
struct Needs {
  std::vector<std::string> symbols;
  std::vector<std::string> libraries;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : file_(path, std::ios::binary) {
    std::error_code error;
    size_ = std::filesystem::file_size(path, error);
    if (error) size_ = 0;
  }

  template <class T>
  bool read(std::uint64_t at, T& to) {
    return read(at, reinterpret_cast<char*>(&to), sizeof to);
  }
  bool read(std::uint64_t at, char* to, std::uint64_t n) {
    if (at > size_ || n > size_ - at) return false;
    file_.seekg(static_cast<std::streamoff>(at));
    return static_cast<bool>(file_.read(to, static_cast<std::streamsize>(n)));
  }
  std::string section(const Elf64_Shdr& s) {
    std::string bytes;
    if (s.sh_type == SHT_NOBITS || s.sh_offset > size_ || s.sh_size > size_ - s.sh_offset) return bytes;
    bytes.resize(s.sh_size);
    if (!read(s.sh_offset, bytes.data(), s.sh_size)) bytes.clear();
    return bytes;
  }

 private:
  std::ifstream file_;
  std::uint64_t size_ = 0;
};

std::string text_at(const std::string& bytes, std::uint64_t at) {
  return at < bytes.size() ? std::string(bytes.c_str() + at) : std::string();
}

Needs needs_of(const std::string& library) {
  Needs needs;
  Reader file(library);
  Elf64_Ehdr header{};
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
    return needs;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (std::size_t i = 0; i < sections.size(); ++i)
    if (!file.read(header.e_shoff + i * sizeof(Elf64_Shdr), sections[i])) return {};
  for (const Elf64_Shdr& s : sections) {
    if ((s.sh_type != SHT_DYNSYM && s.sh_type != SHT_DYNAMIC) || s.sh_link >= sections.size()) continue;
    const std::string bytes = file.section(s), names = file.section(sections[s.sh_link]);
    if (s.sh_type == SHT_DYNSYM) {
      for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= bytes.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, bytes.data() + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF) needs.symbols.push_back(text_at(names, symbol.st_name));
      }
    } else {
      for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= bytes.size(); at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        std::memcpy(&entry, bytes.data() + at, sizeof entry);
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_NEEDED) needs.libraries.push_back(text_at(names, entry.d_un.d_val));
      }
    }
  }
  return needs;
}

// That which it is linked with, which GCC sees to; clang leaves it to the program. GCC's serves both.
std::string runtime_for(const Needs& needs) {
  for (const std::string& name : needs.libraries)
    if (name.starts_with("libtsan.so")) return name;
  for (const char* const name : {"libtsan.so.2", "libtsan.so.0"})
    for (const char* const folder : {"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64",
                                     "/lib64", "/usr/lib", "/usr/local/lib64"}) {
      const std::filesystem::path path = std::filesystem::path(folder) / name;
      std::error_code error;
      if (std::filesystem::exists(path, error)) return path.string();
    }
  throw std::runtime_error(
      "it was compiled with -fsanitize=thread, and GCC's runtime for that, libtsan, is not installed (Debian: libtsan2)");
}

constexpr std::string_view kOptions = "TSAN_OPTIONS=", kPreload = "LD_PRELOAD=";

// Options that decide where reports go and how a process ends after one.
constexpr std::string_view kOurs[] = {"halt_on_error",       "exitcode", "atexit_sleep_ms", "die_after_fork",
                                      "report_thread_leaks", "log_path", "abort_on_error",  "log_to_syslog"};

std::string inherited(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool is_thread_sanitized(const std::string& library) {
  return std::ranges::any_of(needs_of(library).symbols,
                             [](const std::string& s) { return s == "__tsan_init"; });
}

bool is_of_thread_sanitizer(const std::string& variable) {
  return (variable.starts_with(kPreload) && variable.find("libtsan.so") != std::string::npos) ||
         (variable.starts_with(kOptions) && variable.find(kOurOptions) != std::string::npos);
}

std::string refused_option(const std::string& variable) {
  if (!variable.starts_with(kOptions)) return {};
  std::string_view rest = std::string_view(variable).substr(kOptions.size());
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(": ,\n\t"), rest.size());
    const std::string_view name = rest.substr(0, std::min(rest.find('='), end));
    if (std::ranges::find(kOurs, name) != std::end(kOurs)) return std::string(name);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

bool add_to_thread_sanitizer(std::vector<std::string>& variables, const std::string& variable) {
  for (std::string& known : variables) {
    if (!is_of_thread_sanitizer(known)) continue;
    for (const std::string_view name : {kOptions, kPreload}) {
      if (!known.starts_with(name) || !variable.starts_with(name)) continue;
      const std::string asked = variable.substr(name.size()), ours = known.substr(name.size());
      // The runtime is loaded first, and of two options the last one counts.
      if (!asked.empty()) known = fmt::format("{}{}:{}", name, name == kPreload ? ours : asked, name == kPreload ? asked : ours);
      return true;
    }
  }
  return false;
}

std::string asked_of_thread_sanitizer(const std::string& variable) {
  if (!is_of_thread_sanitizer(variable)) return {};
  const bool preload = variable.starts_with(kPreload);
  const std::string_view name = preload ? kPreload : kOptions;
  std::string_view asked = std::string_view(variable).substr(name.size());
  if (preload)
    asked.remove_prefix(std::min(asked.find(':'), asked.size()));
  else
    asked = asked.substr(0, asked.find(fmt::format("exitcode={}:", kSanitizerStatus)));
  std::string text(asked);
  if (const std::string known = inherited(preload ? "LD_PRELOAD" : "TSAN_OPTIONS"); !known.empty())
    if (const std::size_t at = text.find(known); at != std::string::npos) text.erase(at, known.size());
  while (text.starts_with(':')) text.erase(0, 1);
  while (text.ends_with(':')) text.pop_back();
  return text.empty() ? "" : fmt::format("{}{}", name, text);
}

std::vector<std::string> thread_sanitizer_variables(const std::string& library) {
  const Needs needs = needs_of(library);
  for (const std::string& name : needs.libraries)
    if (name.starts_with("libgomp.so"))
      throw std::runtime_error(fmt::format(
          "it was compiled with -fsanitize=thread and is linked with {}, GCC's OpenMP, whose barriers the sanitizer does not "
          "see: it would report races where there are none. Use threads of pthread or std::thread, or leave the sanitizer out",
          name));
  const std::string runtime = runtime_for(needs), preloaded = inherited("LD_PRELOAD"),
                    options = inherited("TSAN_OPTIONS");
  return {fmt::format("LD_PRELOAD={}{}{}", runtime, preloaded.empty() ? "" : ":", preloaded),
          fmt::format("TSAN_OPTIONS={}{}exitcode={}:{}", options, options.empty() ? "" : ":",
                      kSanitizerStatus, kOurOptions)};
}

}  // namespace assay
