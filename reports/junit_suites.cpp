#include "junit_suites.h"

#include <fmt/format.h>

#include "xml.h"

namespace assay {
void JunitSuites::add(const JunitCase& test) {
  Suite& suite = suites_[test.suite];
  ++suite.tests;
  suite.xml += fmt::format("    <testcase classname=\"{}\" name=\"{}\">\n", xml_text(test.class_name),
                           xml_text(test.name));
  const std::string details = xml_text(test.details, XmlPlace::content);
  if (test.kind == JunitKind::failure || test.kind == JunitKind::error) {
    const bool error = test.kind == JunitKind::error;
    ++(error ? suite.errors : suite.failures);
    suite.xml +=
        fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", error ? "error" : "failure",
                    xml_text(test.type), xml_text(test.message), details);
  } else {
    if (test.kind == JunitKind::skipped) {
      ++suite.skipped;
      suite.xml += fmt::format("      <skipped message=\"{}\"/>\n", xml_text(test.message));
    }
    suite.xml += fmt::format("      <system-out>{}</system-out>\n", details);
  }
  suite.xml += "    </testcase>\n";
}

void add_incomplete(JunitSuites& suites, const std::string& suite, const std::string& class_name,
                    const std::string& why, JunitKind kind) {
  if (!why.empty()) suites.add({suite, class_name, "complete", kind, "incomplete", why, ""});
}

std::string JunitSuites::xml() const {
  Suite all;
  for (const auto& [name, suite] : suites_) {
    all.xml += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}"
        "  </testsuite>\n",
        xml_text(name), suite.tests, suite.failures, suite.errors, suite.skipped, suite.xml);
    all.tests += suite.tests;
    all.failures += suite.failures;
    all.errors += suite.errors;
    all.skipped += suite.skipped;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"assay\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n{}</testsuites>\n",
      all.tests, all.failures, all.errors, all.skipped, seconds, all.xml);
}

}  // namespace assay
