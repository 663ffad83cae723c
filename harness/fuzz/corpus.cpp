#include "corpus.h"

#include <fmt/format.h>

#include <filesystem>

#include "reports/file.h"

namespace assay::fuzz {

std::vector<std::string> corpus(const Target& target) {
  std::vector<std::string> inputs = target.seeds();
  const std::string path = fmt::format("{}/{}.txt", ASSAY_FUZZ_CORPUS, target.name);
  if (!std::filesystem::exists(path)) return inputs;
  const std::string text = read_file(path);
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    inputs.push_back(input_of(std::string_view(text).substr(begin, end - begin)));
  return inputs;
}

std::string line(std::string_view input) {
  std::string s;
  for (const char c : input) {
    if (c >= ' ' && c < 127 && c != '"' && c != '\\')
      s += c;
    else
      s += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return s;
}

std::string input_of(std::string_view line) {
  std::string s;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      s += line[i];
      continue;
    }
    if (i + 3 >= line.size()) broken("an escape of less than three digits: " + std::string(line));
    s += static_cast<char>((line[i + 1] - '0') * 64 + (line[i + 2] - '0') * 8 + (line[i + 3] - '0'));
    i += 3;
  }
  return s;
}

}  // namespace assay::fuzz
