// Colours of the terminal, or none.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace assay {

class Style {
 public:
  explicit Style(bool colour) : colour_(colour) {}
  std::string good(std::string_view text) const { return in("32", text); }
  std::string bad(std::string_view text) const { return in("1;31", text); }
  std::string doubtful(std::string_view text) const { return in("33", text); }
  std::string faint(std::string_view text) const { return in("2", text); }
  std::string heading(std::string_view text) const { return in("1", text); }

 private:
  std::string in(std::string_view code, std::string_view text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  bool colour_;
};

}  // namespace assay
