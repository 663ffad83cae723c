// The words of a graph's text, one after the other.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "graph.h"

namespace assay {

struct GraphWord {
  enum class Kind : std::uint8_t { name, number, text, sign, line, end } kind = Kind::end;
  std::string_view text{};  // a sign is one character; a text keeps its quotes
};

class GraphReader {
 public:
  // `graph` is how errors call it; `lines` are the numbers that they give to the text's lines. Both texts and lines live longer than this.
  GraphReader(std::string_view text, std::string graph, std::span<const std::size_t> lines)
      : text_(text), graph_(std::move(graph)), lines_(lines) {
    next();
  }

  const GraphWord& word() const { return word_; }
  std::size_t line() const {
    return line_ < lines_.size() ? lines_[line_] : lines_.empty() ? 1 : lines_.back();
  }
  void next();
  bool is(std::string_view sign) const { return word_.kind == GraphWord::Kind::sign && word_.text == sign; }
  bool accept(std::string_view sign);
  void expect(std::string_view sign);
  // Lines and ";" that stand here.
  void skip_ends();
  // Within parentheses a line ends nothing.
  void enter() { ++depth_; }
  void leave() { --depth_; }
  // Where it is, to go back to.
  GraphReader here() const { return *this; }

  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string_view text_;
  std::string graph_;
  std::span<const std::size_t> lines_;
  std::size_t at_ = 0, line_ = 0;
  int depth_ = 0;
  GraphWord word_;
};

}  // namespace assay
