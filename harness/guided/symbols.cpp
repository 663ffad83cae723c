#include "symbols.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "../registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

std::string find_in_path(std::string_view name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    std::string program = fmt::format("{}/{}", rest.substr(0, colon), name);
    if (access(program.c_str(), X_OK) == 0) return program;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

bool is_of_the_system(std::string_view file) {
  return file.starts_with("/usr/") || file.starts_with("/opt/") || file.find("/include/c++/") != file.npos;
}

// "dir/file.cpp:12:7", "file.c:12 (discriminator 3)", "??:0"
void read_place(std::string_view text, SourcePlace& place) {
  text = text.substr(0, text.find(" (discriminator"));
  std::size_t end = text.size(), colon = text.rfind(':');
  const auto number = [&](std::size_t from, std::size_t to, std::uint32_t& n) {
    const auto [stopped, error] = std::from_chars(text.data() + from, text.data() + to, n);
    return error == std::errc{} && stopped == text.data() + to;
  };
  std::uint32_t last = 0, before = 0;
  if (colon == text.npos || !number(colon + 1, end, last)) return;
  const std::size_t other = colon > 0 ? text.rfind(':', colon - 1) : text.npos;
  if (other != text.npos && number(other + 1, colon, before)) {
    place.line = before;
    end = other;
  } else {
    place.line = last;
    end = colon;
  }
  place.file = text.substr(0, end);
  if (place.file.starts_with("??") || place.line == 0) {
    place.file.clear();
    place.line = 0;
  } else {
    place.file = std::filesystem::path(place.file).lexically_normal().string();
  }
}

SourcePlace chosen(std::vector<SourcePlace>& frames) {
  if (frames.empty()) return {};
  SourcePlace* best = nullptr;
  for (SourcePlace& f : frames)
    if (best == nullptr && !f.file.empty() && !is_of_the_system(f.file)) best = &f;
  if (best == nullptr) best = &frames.back();
  SourcePlace place = *best;
  place.compiled_in = frames.back().function;
  return place;
}

}  // namespace

std::vector<SourcePlace> parse_symbols(std::string_view printed, std::size_t addresses) {
  std::vector<SourcePlace> places;
  std::vector<SourcePlace> frames;
  bool begun = false, expects_function = true;
  const auto finish = [&] {
    if (begun) places.push_back(chosen(frames));
    frames.clear();
  };
  while (!printed.empty()) {
    const std::size_t end = std::min(printed.find('\n'), printed.size());
    const std::string_view line = printed.substr(0, end);
    printed.remove_prefix(std::min(end + 1, printed.size()));
    if (line.empty()) continue;
    if (expects_function && line.starts_with("0x")) {
      finish();
      begun = true;
    } else if (expects_function) {
      SourcePlace frame;
      if (!line.starts_with("??")) frame.function = line;
      frames.push_back(std::move(frame));
      expects_function = false;
    } else {
      if (!frames.empty()) read_place(line, frames.back());
      expects_function = true;
    }
  }
  finish();
  places.resize(addresses);
  return places;
}

void take_lines_from_before(std::span<const std::uint64_t> addresses, std::span<SourcePlace> places) {
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return addresses[i]; });
  for (std::size_t k = 1; k < order.size(); ++k) {
    SourcePlace& p = places[order[k]];
    const SourcePlace& before = places[order[k - 1]];
    if (p.file.empty() && !p.compiled_in.empty() && p.compiled_in == before.compiled_in) p = before;
  }
}

std::string short_function(std::string_view function) {
  // Template arguments and parameters go; what is in an anonymous namespace, or an operator, stays whole.
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < function.size(); ++i) {
    if (function.substr(i).starts_with("(anonymous namespace)::")) {
      i += std::string_view("(anonymous namespace)::").size() - 1;
      continue;
    }
    const bool is_operator = out.ends_with("operator");
    if (function.substr(i).starts_with("operator") || is_operator) {
      if (depth == 0) out += function[i];
      continue;
    }
    if (function[i] == '<') ++depth;
    if (function[i] == '(' && depth == 0 && !function.substr(i).starts_with("()::")) break;
    if (depth == 0) out += function[i];
    if (function[i] == '>') --depth;
  }
  if (const std::size_t space = out.rfind(' '); space != out.npos && out.find("operator") == out.npos)
    out.erase(0, space + 1);
  return out;
}

Symbols find_symbols(const std::string& library, std::span<const std::uint64_t> addresses) {
  Symbols found;
  found.places.resize(addresses.size());
  std::string program = find_in_path("llvm-symbolizer");
  if (program.empty()) program = find_in_path("addr2line");
  if (program.empty()) {
    found.missing =
        "lines are not known: neither llvm-symbolizer (package llvm) nor addr2line (binutils) is installed";
    return found;
  }
  const TemporaryFolder folder;
  const std::string list = (folder.path() / "addresses").string();
  std::string text;
  for (const std::uint64_t a : addresses) text += fmt::format("{:#x}\n", a);
  write_file(list, text);
  const Finished finished =
      run_program("/bin/sh", {"-c", "exec \"$0\" -a -f -i -C -e \"$1\" < \"$2\"", program, library, list});
  if (finished.status == 0) found.places = parse_symbols(finished.out, addresses.size());
  if (std::ranges::none_of(found.places, [](const SourcePlace& p) { return p.line != 0; }))
    found.missing =
        fmt::format("lines are not known: {} has no debug information that {} can read; compile with -g",
                    std::filesystem::path(library).filename().string(),
                    std::filesystem::path(program).filename().string());
  return found;
}

}  // namespace assay
