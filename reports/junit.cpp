#include "junit.h"

#include <fmt/format.h>

#include <map>
#include <vector>

namespace assay {
namespace {

// The code point that begins at text[i], and its length; length 0 if the bytes are not UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};

CodePoint code_point(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || i + length > text.size()) return {};
  std::uint32_t value = length == 1 ? first : first & (0x7Fu >> length);
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i + k) & 0x3Fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return value < kLeast[length] ? CodePoint{} : CodePoint{value, length};
}

// The characters of XML 1.0.
bool allowed(std::uint32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) ||
         (c >= 0x10000 && c <= 0x10FFFF);
}

enum class Place { attribute, content };

std::string escaped(std::string_view text, Place place = Place::attribute) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point(text, i);
    if (c.length == 0 || !allowed(c.value)) {
      i += c.length == 0 ? 1 : c.length;
      continue;
    }
    // A parser turns white space in attributes into blanks, and "\r" everywhere.
    const bool white = c.value == '\r' || (place == Place::attribute && (c.value == '\t' || c.value == '\n'));
    if (white || c.value == '&' || c.value == '<' || c.value == '>' || c.value == '"')
      out += fmt::format("&#{};", c.value);
    else
      out += text.substr(i, c.length);
    i += c.length;
  }
  return out;
}

std::string counts_text(const Row& row) {
  std::vector<std::string> parts;
  for (int v = 0; v < kVerdicts; ++v)
    if (const std::uint64_t n = count_of(row, static_cast<Verdict>(v)); n > 0)
      parts.push_back(fmt::format("{} {}", n, token(static_cast<Verdict>(v))));
  return parts.empty() ? "no cases" : fmt::format("{}", fmt::join(parts, ", "));
}

// All that is known of the row, in plain words.
std::string details(const Row& row) {
  std::string text = fmt::format("cases: {}\n", counts_text(row));
  if (row.elements > 0)
    text += fmt::format("worst error/bound: {:.4g}\nundecidable elements: {:.3g}%\n", row.worst,
                        100 * row.undecidable());
  if (!row.information.empty()) text += fmt::format("implementation: {}\n", row.information);
  for (const auto& [reason, cases] : row.refused)
    text += fmt::format("refused {} cases: {}\n", cases, reason);
  for (const Failure& f : row.failures) {
    text += fmt::format("\n{}: {}\n{}\n", token(f.kind), f.case_text, f.detail);
    if (!f.diagnosis.empty()) text += fmt::format("diagnosis: {}\n", f.diagnosis);
    if (!f.replay.empty()) text += fmt::format("replay: assay replay {}\n", f.replay);
  }
  return text;
}

std::string message(const Row& row) {
  if (!row.reason.empty()) return fmt::format("{}: {}", token(row.verdict), row.reason);
  if (row.verdict == Verdict::refused && !row.refused.empty())
    return fmt::format("refused: {}", row.refused.begin()->first);
  if (!row.failures.empty()) return fmt::format("{}: {}", token(row.verdict), row.failures.front().detail);
  return std::string(token(row.verdict));
}

enum class Kind { passed, failure, error, skipped };

Kind kind_of(const Row& row, const Rules& rules) {
  if (fails(row, rules))
    return row.verdict == Verdict::crashed || row.verdict == Verdict::timeout ? Kind::error : Kind::failure;
  if (row.verdict == Verdict::pass || row.verdict == Verdict::suspicious) return Kind::passed;
  return Kind::skipped;
}

struct Suite {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  std::string xml;

  void add(const Row& row, const Rules& rules) {
    ++tests;
    xml += fmt::format("    <testcase classname=\"assay.{}\" name=\"{} {}\">\n", escaped(row.op),
                       escaped(row.impl), escaped(row.dtype));
    switch (kind_of(row, rules)) {
      case Kind::passed:
        system_out(row);
        break;
      case Kind::failure:
        ++failures;
        element("failure", row);
        break;
      case Kind::error:
        ++errors;
        element("error", row);
        break;
      case Kind::skipped:
        ++skipped;
        xml += fmt::format("      <skipped message=\"{}{}\"/>\n",
                           is_fault(row.verdict) ? "a peer disagrees, which does not decide the run; " : "",
                           escaped(message(row)));
        system_out(row);
        break;
    }
    xml += "    </testcase>\n";
  }

 private:
  void element(std::string_view name, const Row& row) {
    xml += fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", name, token(row.verdict),
                       escaped(message(row)), escaped(details(row), Place::content));
  }
  void system_out(const Row& row) {
    xml += fmt::format("      <system-out>{}</system-out>\n", escaped(details(row), Place::content));
  }
};

}  // namespace

std::string junit(const RunResult& run, const Rules& rules) {
  std::map<std::string, Suite> suites;
  for (const Row& row : run.rows) suites[row.op].add(row, rules);
  Suite all;
  std::string body;
  for (const auto& [op, suite] : suites) {
    body += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}"
        "  </testsuite>\n",
        escaped(op), suite.tests, suite.failures, suite.errors, suite.skipped, suite.xml);
    all.tests += suite.tests;
    all.failures += suite.failures;
    all.errors += suite.errors;
    all.skipped += suite.skipped;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"assay\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n{}</testsuites>\n",
      all.tests, all.failures, all.errors, all.skipped, run.seconds, body);
}

}  // namespace assay
