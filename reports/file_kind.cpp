#include "file_kind.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "file.h"

namespace assay {
namespace {

// Follows the keys on the way down and stops at the one that is looked for.
class FormatFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string format, error;
  bool found = false;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& text) override {
    if (!in_place()) return true;
    format = text;
    found = true;
    return false;
  }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    keys_.emplace_back("[]");
    return true;
  }
  bool end_array() override {
    keys_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    keys_.back() = name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& what) override {
    error = what.what();
    return false;
  }

 private:
  bool in_place() const {
    static const std::vector<std::string> kTop{"format"}, kBench{"context", "assay", "format"};
    return keys_ == kTop || keys_ == kBench;
  }

  std::vector<std::string> keys_;
};

}  // namespace

std::string format_of(std::string_view text, const std::string& name) {
  FormatFinder finder;
  nlohmann::json::sax_parse(text, &finder);
  if (!finder.found && !finder.error.empty()) {
    const std::size_t start = finder.error.find("] ");
    throw FileError(fmt::format("cannot read {}: it is no JSON: {}", name,
                                start == std::string::npos ? finder.error : finder.error.substr(start + 2)));
  }
  return finder.format;
}

}  // namespace assay
