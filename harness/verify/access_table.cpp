#include "access_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "reports/text.h"

namespace assay {
namespace {

// From the last "optimized/" on.
std::string from_optimized(const std::string& path) {
  const std::size_t at = path.rfind("optimized/");
  return at == std::string::npos ? path : path.substr(at);
}

// "softmax_kernel" of "void assay::cuda::emulated::softmax_kernel<float, 4>(float const*, ...)".
std::string plain_name(std::string function) {
  int depth = 0;
  std::string flat;
  for (const char c : function) {
    if (c == '(' && depth == 0) break;
    if (c == '<') ++depth;
    if (depth == 0) flat += c;
    if (c == '>') --depth;
  }
  for (const char separator : {' ', ':'})
    if (const std::size_t at = flat.rfind(separator); at != std::string::npos) flat = flat.substr(at + 1);
  return flat;
}

struct Frames {
  std::string place;   // the innermost that is a kernel's source
  std::string kernel;  // the outermost function
};

// What addr2line says of each address, in order.
std::vector<Frames> frames_of(const std::vector<AccessCounts>& counts, const std::string& library) {
  std::string command = fmt::format("addr2line -a -i -f -C -e '{}'", library);
  for (const AccessCounts& c : counts) command += fmt::format(" {:#x}", c.pc - 1);
  command += " 2>/dev/null";
  std::vector<Frames> all;
  const auto close = [](FILE* f) { pclose(f); };
  const std::unique_ptr<FILE, decltype(close)> out(popen(command.c_str(), "r"), close);
  if (out == nullptr) return all;
  std::string text;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, out.get()) != nullptr) text += buffer;
  std::istringstream lines(text);
  std::string function;
  bool is_function = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      all.emplace_back();
      is_function = true;
      continue;
    }
    if (all.empty()) break;
    if (is_function) {
      function = line;
    } else if (line.find("optimized/cuda/") != std::string::npos &&
               line.find("/emulation/") == std::string::npos) {
      line = line.substr(0, line.find(" (discriminator"));
      if (all.back().place.empty()) all.back().place = from_optimized(line);
      if (function.find("operator()") == std::string::npos) all.back().kernel = plain_name(function);
    }
    is_function = !is_function;
  }
  return all;
}

}  // namespace

AccessFile::AccessFile() {
  std::string name = (std::filesystem::temp_directory_path() / "assay-access-XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) throw std::runtime_error(fmt::format("{}: cannot be written", name));
  path_ = name;
  const bool sized = ftruncate(file, kCountedPlaces * sizeof(AccessCounts)) == 0;
  close(file);
  if (!sized) throw std::runtime_error(fmt::format("{}: cannot be made large enough", name));
}

AccessFile::~AccessFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

std::vector<AccessCounts> AccessFile::counts() const {
  std::vector<AccessCounts> all(kCountedPlaces);
  std::ifstream file(path_, std::ios::binary);
  file.read(reinterpret_cast<char*>(all.data()),
            static_cast<std::streamsize>(all.size() * sizeof(AccessCounts)));
  std::erase_if(all, [](const AccessCounts& c) { return c.pc == 0 || c.requests == 0; });
  return all;
}

std::vector<CountedLine> counted_lines(const std::vector<AccessCounts>& counts, const std::string& library) {
  std::vector<CountedLine> lines;
  // As many addresses as a command line holds.
  constexpr std::size_t kAtOnce = 2000;
  for (std::size_t begin = 0; begin < counts.size(); begin += kAtOnce) {
    const std::vector<AccessCounts> some(
        counts.begin() + static_cast<std::ptrdiff_t>(begin),
        counts.begin() + static_cast<std::ptrdiff_t>(std::min(counts.size(), begin + kAtOnce)));
    const std::vector<Frames> frames = frames_of(some, library);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const AccessCounts& c = some[i];
      const Frames at =
          i < frames.size() && !frames[i].place.empty() ? frames[i] : Frames{fmt::format("{:#x}", c.pc), "?"};
      const std::string access = fmt::format("{} {}, {} B", c.shared != 0 ? "shared" : "global",
                                             c.write != 0 ? "write" : "read", c.bytes);
      lines.push_back({at.place, at.kernel, access, c.requests, c.units, c.ideal});
    }
  }
  return summed(lines);
}

std::string access_table(const std::vector<CountedLine>& lines) {
  std::string text =
      "Accesses of warps: sectors of 32 bytes of global memory, passes over the banks of shared memory. Most that could\n"
      "be saved first; small tensors and odd strides, which most cases have, cannot do better.\n\n";
  const auto row = [&](std::string_view place, std::string_view kernel, std::string_view access,
                       std::string_view requests, std::string_view each, std::string_view ideal) {
    text += fmt::format("  {}  {}  {}  {}  {}  {}\n", pad_right(place, 38), pad_right(kernel, 30),
                        pad_right(access, 18), pad_left(requests, 11), pad_left(each, 6), pad_left(ideal, 5));
  };
  row("line", "kernel", "access", "requests", "each", "least");
  for (const CountedLine& l : lines) {
    const auto each = [&](std::uint64_t n) {
      return fmt::format("{:.2f}", static_cast<double>(n) / static_cast<double>(l.requests));
    };
    row(l.place, l.kernel, l.access, fmt::format("{}", l.requests), each(l.units), each(l.least));
  }
  return text;
}

}  // namespace assay
