#include "module.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "../emulation/text.h"
#include "linker.h"
#include "text.h"

namespace assay::cuda::ptx {
namespace {

// A cursor in text, for what stands outside of functions.
class Reader {
 public:
  explicit Reader(Text text) : text_(text) {}

  bool at_end() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ == text_.size();
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // Up to white space or punctuation, which is an error.
  Text word() {
    at_end();
    const std::size_t begin = at_;
    const auto ends = [](char c) {
      return is_space(c) || c == '(' || c == ')' || c == '{' || c == '}' || c == ';' || c == ',';
    };
    while (at_ < text_.size() && !ends(text_[at_])) ++at_;
    if (begin == at_) throw error_at(text_, text_.substr(at_, 1), "a word is missing");
    return text_.substr(begin, at_ - begin);
  }
  Text line() { return up_to(std::min(text_.find('\n', at_), text_.size())); }
  // The end itself is taken, too.
  Text until(char end) {
    const std::size_t at = text_.find(end, at_);
    if (at == Text::npos)
      throw error_at(text_, text_.substr(at_), std::string("there is no ") + end + " after");
    const Text found = up_to(at);
    ++at_;
    return found;
  }
  // What stands between a bracket and its partner, of which the first has just been taken.
  Text enclosed(char open, char close) {
    const std::size_t begin = at_;
    for (int depth = 1; at_ < text_.size(); ++at_) {
      if (text_[at_] == open) ++depth;
      if (text_[at_] == close && --depth == 0) return text_.substr(begin, at_++ - begin);
    }
    throw error_at(text_, text_.substr(begin - 1, 1), std::string("a bracket has no ") + close);
  }

 private:
  Text up_to(std::size_t end) {
    const Text found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
  }

  Text text_;
  std::size_t at_ = 0;
};

void blank_comments(std::string& text) {
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"' || text[at] == '\n') quoted = text[at] == '"' && !quoted;
    if (!quoted && text[at] == '/' && at + 1 < text.size() && text[at + 1] == '/')
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
  const auto error = [this](Text token, std::string_view what) { return error_at(text_, token, what); };
  Reader in(text_);
  if (in.at_end()) throw error(Text(text_).substr(0, 0), "no PTX: it is empty");
  if (const Text first = in.word(); first != ".version")
    throw error(first, "no PTX: it does not begin with .version");
  in.line();
  while (!in.at_end()) {
    const Text word = in.word();
    if (word == ".target" || word == ".address_size") {
      in.line();
    } else if (word == ".file") {
      const std::vector<Text> parts = words(in.line());
      std::uint64_t number = 0;
      if (parts.size() < 2 || !read_number(parts[0], number))
        throw error(word, "a file without a number and a name");
      files_[number] = parts[1];
    } else if (word == ".section") {
      in.word();
      if (in.take('{')) in.enclosed('{', '}');
    } else if (word == ".visible" || word == ".weak" || word == ".common") {
      continue;
    } else if (word == ".extern") {
      const Text what = in.word();
      if (what == ".shared")
        shared_.push_back(in.until(';'));
      else if (what == ".func")
        in.until(';');  // an error where it is called
      else
        throw error(what, "PTX that is not interpreted");
    } else if (word == ".shared") {
      shared_.push_back(in.until(';'));
    } else if (word == ".entry" || word == ".func") {
      Function f;
      if (in.take('(')) f.results = in.enclosed('(', ')');
      f.name = in.word();
      if (in.take('(')) f.parameters = in.enclosed('(', ')');
      while (!in.take(';')) {
        if (in.take('{')) {
          f.body = in.enclosed('{', '}');
          add(f, word == ".entry");
          break;
        }
        if (!in.take(',')) in.word();  // .maxntid 256, 1, 1
      }
    } else {
      throw error(word, "PTX that is not interpreted");
    }
  }
}

void Module::add(const Function& f, bool entry) {
  if (!functions_.emplace(f.name, f).second) throw error_at(text_, f.name, "two functions have one name");
  if (!entry) return;
  if (!entries_.emplace(plain_name(std::string(f.name).c_str()), f.name).second)
    throw error_at(text_, f.name, "two kernels have one name without their arguments");
}

std::unique_ptr<Module> Module::of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) throw std::runtime_error(path + ": cannot be read");
  try {
    auto module = std::make_unique<Module>(std::move(text).str());
    module->path_ = path + ": ";
    return module;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

const Program* Module::kernel(const std::string& name) {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return nullptr;
  std::unique_ptr<Program>& program = programs_[name];
  if (program == nullptr) try {
      program = std::make_unique<Program>(
          link({text_, functions_, shared_, files_}, functions_.find(entry->second)->second));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(path_ + error.what());
    }
  return program.get();
}

std::vector<std::string> Module::kernels() const {
  std::vector<std::string> names;
  for (const auto& [name, mangled] : entries_) names.push_back(name);
  return names;
}

}  // namespace assay::cuda::ptx
