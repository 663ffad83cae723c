// Reads JSON with errors that name the file and the key: "run.json: results[3].cases: expected a whole
// number, got ..".
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

// A value inside a document that outlives it, with its place. Every function throws FileError.
class JsonReader {
 public:
  using Optional = std::optional<JsonReader>;

  JsonReader(const nlohmann::json& value, const std::string& file, std::string place)
      : value_(&value), file_(&file), place_(std::move(place)) {}

  JsonReader at(const std::string& key) const;
  Optional find(const std::string& key) const;                      // none if the key is missing or null
  std::vector<JsonReader> items() const;                            // of an array
  std::vector<std::pair<std::string, JsonReader>> members() const;  // of an object

  // Others' files may have anything under our names: a counter called "skipped" is a number.
  bool is_object() const { return value_->is_object(); }
  bool is_true() const { return value_->is_boolean() && value_->get<bool>(); }

  std::string text() const;
  bool boolean() const;
  std::uint64_t count() const;  // a whole number, at least 0
  double number() const;        // or one of the strings "inf", "-inf" and "nan"
  std::string text_or(const std::string& key, std::string otherwise) const;
  std::uint64_t count_or(const std::string& key, std::uint64_t otherwise) const;

  [[noreturn]] void fail(std::string_view what) const;

 private:
  [[noreturn]] void expected(std::string_view what) const;
  void require_object() const;

  const nlohmann::json* value_;
  const std::string* file_;
  std::string place_;
};

// What is wrong with a text that is no JSON, without the library's own numbers: "parse error at line 3, column 5: ..".
std::string json_error(const nlohmann::json::exception& error);

// What a parsed document does not tell, or would take too much memory to tell.
struct JsonOutline {
  std::optional<std::string>
      repeated_key;       // that one object has twice: of its values the parser keeps the last
  std::size_t depth = 0;  // of objects in objects and arrays
};
inline constexpr std::size_t kMostJsonDepth = 64;
// Up to such a key, to one level more than kMostJsonDepth, or to where the text is no JSON.
JsonOutline json_outline(std::string_view text);

class JsonDocument {
 public:
  // Throws FileError that names the file, and the line if the text is no JSON, or the key that an object has twice; and
  // for more than kMostJsonDepth levels.
  JsonDocument(std::string_view text, std::string file);
  JsonReader root() const { return {value_, file_, ""}; }

 private:
  std::string file_;
  nlohmann::json value_;
};

}  // namespace assay
