#include "json_reader.h"

#include <fmt/format.h>

#include <limits>

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

JsonDocument::JsonDocument(std::string_view text, std::string file) : file_(std::move(file)) {
  try {
    value_ = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw FileError(fmt::format("cannot read {}: it is no JSON: {}", file_, json_error(error)));
  }
}

}  // namespace assay
