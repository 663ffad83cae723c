// JUnit XML from test cases, whatever they test.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "row.h"

namespace assay {

enum class JunitKind { passed, failure, error, skipped };

struct JunitCase {
  std::string suite, class_name, name;
  JunitKind kind = JunitKind::passed;
  std::string type, message;  // unless it passed
  std::string details;
};

class JunitSuites {
 public:
  // Suites come in the order of their names, cases as they were added. Characters that XML 1.0 forbids are left out.
  void add(const JunitCase& test);
  std::string xml() const;

  double seconds = 0;

 private:
  struct Suite {
    std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
    std::string xml;
  };
  std::map<std::string, Suite> suites_;
};

// That a file does not hold all that was to be done is an error of its own, whatever the rows that it has say. Nothing for an
// empty `why`.
void add_incomplete(JunitSuites& suites, const std::string& suite, const std::string& class_name,
                    const std::string& why, JunitKind kind = JunitKind::error);

// A test case for each row; `prefix` stands before the names of suites.
void add_to(JunitSuites& suites, const RunResult& run, const Rules& rules, const std::string& prefix);

}  // namespace assay
