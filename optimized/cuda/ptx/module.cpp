#include "module.h"

#include <cctype>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "../emulation/text.h"
#include "linker.h"

namespace assay::cuda::ptx {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// A cursor in text, for what stands outside of functions.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ == text_.size();
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // Up to white space or punctuation.
  std::string_view word() {
    at_end();
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) &&
           std::string_view("(){};,").find(text_[at_]) == std::string_view::npos)
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view line() { return until('\n'); }
  std::string_view until(char end) {
    const std::size_t begin = at_;
    at_ = text_.find(end, at_);
    if (at_ == std::string_view::npos) at_ = text_.size();
    const auto found = text_.substr(begin, at_ - begin);
    if (at_ < text_.size()) ++at_;
    return found;
  }
  // What stands between a bracket and its partner, of which the first has just been taken.
  std::string_view enclosed(char open, char close) {
    const std::size_t begin = at_;
    for (int depth = 1; at_ < text_.size(); ++at_) {
      if (text_[at_] == open) ++depth;
      if (text_[at_] == close && --depth == 0) return text_.substr(begin, at_++ - begin);
    }
    throw std::runtime_error(std::string("a ") + open + " has no " + close);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

void blank_comments(std::string& text) {
  for (std::size_t at = text.find("//"); at != std::string::npos; at = text.find("//", at)) {
    for (; at < text.size() && text[at] != '\n'; ++at) text[at] = ' ';
  }
}

void erase_all(std::string& s, std::string_view what) {
  for (std::size_t at = s.find(what); at != std::string::npos; at = s.find(what, at))
    s.erase(at, what.size());
}

}  // namespace

std::string plain_name(const char* mangled) {
  std::string s = emulation::demangled(mangled);
  for (const char* prefix : {"void ", "assay::cuda::gpu::", "assay::cuda::emulated::"}) erase_all(s, prefix);
  return s;
}

Module::Module(std::string text) : text_(std::move(text)) {
  blank_comments(text_);
  Reader in(text_);
  if (in.word() != ".version") throw std::runtime_error("no PTX: it does not begin with .version");
  in.line();
  while (!in.at_end()) {
    const std::string_view word = in.word();
    if (word == ".target" || word == ".address_size") {
      in.line();
    } else if (word == ".file") {
      std::istringstream rest{std::string(in.line())};
      int number = 0;
      std::string name;
      rest >> number >> name;
      files_[number] = name;
    } else if (word == ".section") {
      in.word();
      if (in.take('{')) in.enclosed('{', '}');
    } else if (word == ".visible" || word == ".weak" || word == ".common") {
      continue;
    } else if (word == ".extern" || word == ".shared") {
      shared_.push_back(in.until(';'));
    } else if (word == ".entry" || word == ".func") {
      Function f;
      if (in.take('(')) f.results = in.enclosed('(', ')');
      f.name = in.word();
      if (in.take('(')) f.parameters = in.enclosed('(', ')');
      while (!in.at_end() && !in.take(';')) {
        if (in.take('{')) {
          f.body = in.enclosed('{', '}');
          functions_[std::string(f.name)] = f;
          if (word == ".entry" && !entries_.emplace(plain_name(std::string(f.name).c_str()), f.name).second)
            throw std::runtime_error("two kernels are called " + plain_name(std::string(f.name).c_str()));
          break;
        }
        in.take(',');
        in.word();  // .maxntid 256, 1, 1
      }
    } else {
      throw std::runtime_error("PTX that is not interpreted: " +
                               std::string(word.empty() ? in.line() : word));
    }
  }
}

std::unique_ptr<Module> Module::of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) throw std::runtime_error(path + ": cannot be read");
  try {
    return std::make_unique<Module>(std::move(text).str());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

const Program* Module::kernel(const std::string& name) {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return nullptr;
  std::unique_ptr<Program>& program = programs_[name];
  if (program == nullptr)
    program = std::make_unique<Program>(link({functions_, shared_, files_}, functions_.at(entry->second)));
  return program.get();
}

std::vector<std::string> Module::kernels() const {
  std::vector<std::string> names;
  for (const auto& [name, mangled] : entries_) names.push_back(name);
  return names;
}

}  // namespace assay::cuda::ptx
