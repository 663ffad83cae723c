#include "html_table.h"

#include <fmt/format.h>

#include "html_text.h"

namespace assay {
namespace {

constexpr std::size_t kLongestTableText = 240;
constexpr const char* kLeftOut = "\"(see the file)\"";

}  // namespace

ScriptTable::ScriptTable(std::string id, std::string noun, std::vector<TableColumn> columns,
                         std::size_t string_bytes)
    : id_(std::move(id)), noun_(std::move(noun)), columns_(std::move(columns)), string_bytes_(string_bytes) {}

void ScriptTable::add(std::string_view key, const std::string& json) {
  const auto found = values_.find(key);
  Column& column = found != values_.end() ? found->second : values_[std::string(key)];
  const auto [place, is_new] =
      column.places.try_emplace(json, static_cast<std::uint32_t>(column.places.size()));
  if (is_new) column.distinct += (column.distinct.empty() ? "" : ",") + json;
  column.rows.push_back(place->second);
}

void ScriptTable::name(std::string_view key, std::string_view text) { add(key, script_json(text)); }

void ScriptTable::text(std::string_view key, std::string_view text) {
  if (text.empty()) return none(key);
  std::string json = script_json(shortened(text, kLongestTableText));
  const auto column = values_.find(key);
  if (column == values_.end() || !column->second.places.contains(json)) {
    if (json.size() + 1 > string_bytes_)
      json = kLeftOut;
    else
      string_bytes_ -= json.size() + 1;
  }
  add(key, json);
}

void ScriptTable::number(std::string_view key, double value, int digits) {
  add(key, script_json(value, digits));
}

void ScriptTable::count(std::string_view key, std::uint64_t value) { add(key, fmt::format("{}", value)); }

void ScriptTable::none(std::string_view key) { add(key, "null"); }

// Digits to the base 90: the characters from "#" to "~" that stand for themselves in JSON and in HTML.
std::string ScriptTable::packed(const Column& column) {
  static const std::string kDigits = [] {
    std::string digits;
    for (char c = '#'; c <= '~'; ++c)
      if (c != '\\' && c != '<') digits += c;
    return digits;
  }();
  std::size_t width = 1;
  for (std::size_t holds = kDigits.size(); holds < column.places.size(); holds *= kDigits.size()) ++width;
  std::string text;
  text.reserve(width * column.rows.size());
  for (std::uint32_t place : column.rows) {
    for (std::size_t d = 0; d < width; ++d) {
      text += kDigits[place % kDigits.size()];
      place /= static_cast<std::uint32_t>(kDigits.size());
    }
  }
  return fmt::format("{{\"width\":{},\"values\":[{}],\"rows\":\"{}\"}}", width, column.distinct, text);
}

std::string ScriptTable::html(const std::vector<std::string>& keys, const std::string& state_key,
                              const std::vector<State>& states,
                              const std::map<std::string, std::string>& parts, const Drawn& drawn) const {
  const auto list = [](const auto& items, auto&& text) {
    std::string s;
    for (const auto& item : items) s += (s.empty() ? "" : ",") + text(item);
    return "[" + s + "]";
  };
  std::vector<TableColumn> shown, more;
  for (const TableColumn& c : columns_) (c.width > 0 ? shown : more).push_back(c);
  const auto column = [](const TableColumn& c) {
    return fmt::format("{{\"key\":{},\"title\":{},\"kind\":{},\"width\":{}}}", script_json(c.key),
                       script_json(c.title), script_json(c.kind), c.width);
  };
  const auto quoted = [](const std::string& s) { return script_json(s); };
  std::string part, cols;
  for (const auto& [key, id] : parts)
    part += fmt::format("{}{}:{}", part.empty() ? "" : ",", script_json(key), script_json(id));
  for (const auto& [key, values] : values_)
    cols += fmt::format("{}{}:{}", cols.empty() ? "" : ",\n", script_json(key), packed(values));
  std::string s = fmt::format(
      "<div class=\"grid\" data-rows=\"rows-{0}\"></div>\n<script type=\"application/json\" id=\"rows-{0}\">\n",
      id_);
  s += fmt::format("{{\"id\":{},\"noun\":{},\"keys\":{},\n", script_json(id_), script_json(noun_),
                   list(keys, quoted));
  s += fmt::format("\"columns\":{},\n\"more\":{},\n", list(shown, column), list(more, column));
  s += fmt::format("\"state\":{{\"key\":{},\"names\":{},\"marks\":{},\"classes\":{}}},\n",
                   script_json(state_key), list(states, [](const State& st) { return script_json(st.name); }),
                   list(states, [](const State& st) { return script_json(st.mark); }),
                   list(states, [](const State& st) { return script_json(st.look); }));
  if (!drawn.key.empty())
    s += fmt::format("\"drawn\":{{\"key\":{},\"id\":{}}},\n", script_json(drawn.key), script_json(drawn.id));
  s += fmt::format("\"parts\":{{{}}},\n\"cols\":{{{}}}}}\n</script>\n", part, cols);
  return s;
}

}  // namespace assay
