#include "json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "file.h"

namespace assay {
namespace {

constexpr std::size_t kLongestQuote = 60;

std::string quote(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongestQuote) text = text.substr(0, kLongestQuote) + "...";
  return text;
}

// Hears what a text of JSON consists of. Not the parser's own callback: with one, it looks through all that an object or array
// holds whenever one of these ends.
class OutlineReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonOutline outline;

  bool key(string_t& name) override {
    if (open_.back().insert(name).second) return true;
    outline.repeated_key = name;
    return false;
  }
  bool start_object(std::size_t) override { return start(); }
  bool end_object() override { return end(); }
  bool start_array(std::size_t) override { return start(); }
  bool end_array() override { return end(); }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  bool start() {
    open_.emplace_back();
    outline.depth = std::max(outline.depth, open_.size());
    return outline.depth <= kMostJsonDepth;
  }
  bool end() {
    open_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> open_;  // the keys of each object that has not ended; none for an array
};

}  // namespace

void JsonReader::fail(std::string_view what) const {
  throw FileError(fmt::format("cannot read {}: {}{}{}", *file_, place_, place_.empty() ? "" : ": ", what));
}

void JsonReader::expected(std::string_view what) const {
  fail(fmt::format("expected {}, got {}", what, quote(*value_)));
}

void JsonReader::require_object() const {
  if (!value_->is_object()) expected("an object");
}

JsonReader JsonReader::at(const std::string& key) const {
  require_object();
  const auto found = value_->find(key);
  if (found == value_->end()) fail(fmt::format("the key {} is missing", key));
  return {*found, *file_, place_.empty() ? key : place_ + "." + key};
}

JsonReader::Optional JsonReader::find(const std::string& key) const {
  require_object();
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return at(key);
}

std::vector<JsonReader> JsonReader::items() const {
  if (!value_->is_array()) expected("an array");
  std::vector<JsonReader> items;
  for (std::size_t i = 0; i < value_->size(); ++i)
    items.emplace_back((*value_)[i], *file_, fmt::format("{}[{}]", place_, i));
  return items;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  require_object();
  std::vector<std::pair<std::string, JsonReader>> members;
  for (const auto& [key, value] : value_->items())
    members.emplace_back(key, JsonReader(value, *file_, fmt::format("{}.{}", place_, key)));
  return members;
}

std::string JsonReader::text() const {
  if (!value_->is_string()) expected("a text");
  return value_->get<std::string>();
}

bool JsonReader::boolean() const {
  if (!value_->is_boolean()) expected("true or false");
  return value_->get<bool>();
}

std::uint64_t JsonReader::count() const {
  if (!value_->is_number_unsigned()) expected("a whole number, at least 0");
  return value_->get<std::uint64_t>();
}

double JsonReader::number() const {
  if (value_->is_number()) return value_->get<double>();
  if (*value_ == "inf") return std::numeric_limits<double>::infinity();
  if (*value_ == "-inf") return -std::numeric_limits<double>::infinity();
  if (*value_ == "nan") return std::numeric_limits<double>::quiet_NaN();
  expected("a number, \"inf\", \"-inf\" or \"nan\"");
}

std::string JsonReader::text_or(const std::string& key, std::string otherwise) const {
  const Optional found = find(key);
  return found ? found->text() : std::move(otherwise);
}

std::uint64_t JsonReader::count_or(const std::string& key, std::uint64_t otherwise) const {
  const Optional found = find(key);
  return found ? found->count() : otherwise;
}

std::string json_error(const nlohmann::json::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 3, column 5: ...", or "out_of_range" for the number 1e999.
  const std::string what = error.what();
  const std::size_t start = what.find("] ");
  return start == std::string::npos ? what : what.substr(start + 2);
}

JsonOutline json_outline(std::string_view text) {
  OutlineReader reader;
  nlohmann::json::sax_parse(text, &reader);
  return reader.outline;
}

JsonDocument::JsonDocument(std::string_view text, std::string file) : file_(std::move(file)) {
  const JsonOutline outline = json_outline(text);
  if (outline.depth > kMostJsonDepth)
    throw FileError(fmt::format("cannot read {}: it is nested more than {} deep", file_, kMostJsonDepth));
  try {
    value_ = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw FileError(fmt::format("cannot read {}: it is no JSON: {}", file_, json_error(error)));
  }
  if (outline.repeated_key)
    throw FileError(
        fmt::format("cannot read {}: an object has the key {} twice", file_, quote(*outline.repeated_key)));
}

}  // namespace assay
