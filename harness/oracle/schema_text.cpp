#include "schema_text.h"

#include <vector>

namespace assay::oracle {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// An annotation stands directly after a type, "Tensor(a!)" or "Tensor(a)[]"; the list of arguments, which stands
// directly after the operator's name, comes first.
std::string without_annotations(std::string_view s) {
  std::string out;
  std::size_t at = s.find('(');
  if (at == std::string_view::npos) return std::string(s);
  out = s.substr(0, ++at);
  char quote = 0;
  for (; at < s.size(); ++at) {
    const char c = s[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' && (is_word(s[at - 1]) || s[at - 1] == ']' || s[at - 1] == '?')) {
      at = s.find(')', at);
      if (at == std::string_view::npos) return out;
      continue;
    }
    out += c;
  }
  return out;
}

void replace_word(std::string& s, std::string_view from, std::string_view to) {
  for (std::size_t at = s.find(from); at != std::string::npos; at = s.find(from, at + to.size())) {
    const bool begins = at == 0 || !is_word(s[at - 1]);
    const bool ends = at + from.size() == s.size() || !is_word(s[at + from.size()]);
    if (begins && ends) s.replace(at, from.size(), to);
  }
}

// "(Tensor values, Tensor indices)" -> "Tensor,Tensor"
std::string result_types(std::string_view s) {
  std::string out;
  bool name = false;
  for (const char c : s) {
    if (c == '(' || c == ')') continue;
    if (c == ',') {
      out += c;
      name = false;
    } else if (c == ' ') {
      // After a type; a space in front of one comes after "->" or a comma.
      name = !out.empty() && out.back() != ',';
    } else if (!name) {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string comparable(std::string_view schema) {
  constexpr std::string_view kArrow = "->";
  if (schema.starts_with("aten::")) schema.remove_prefix(6);
  std::string s = without_annotations(schema);
  replace_word(s, "SymInt", "int");
  const std::size_t arrow = s.rfind(kArrow);
  if (arrow == std::string::npos) return s;
  return s.substr(0, arrow + kArrow.size()) + " " +
         result_types(std::string_view(s).substr(arrow + kArrow.size()));
}

}  // namespace assay::oracle
