// Journals of runs: read_journal_text() throws FileError that names the file, or gives entries of which a document can be made; what is
// torn off at the end takes whole entries with it and nothing else.
#include "reports/journal.h"

#include "reports/file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  const std::string begin =
      R"({"format":"assay.journal/1","id":"a1","run":{"command":"verify","asked":["relu"],"program":"p","inputs":{},"environment":{}}})"
      "\n";
  const std::string document = R"({"document":{"format":"assay.selftest/1","planted":[]}})"
                               "\n";
  const std::string entry = R"({"key":"k","at":0.5,"add":{"planted":[{"op":"relu"}]},"more":null})"
                            "\n";
  return {begin + document, begin + document + entry + entry, begin + document + entry + entry.substr(0, 20)};
}

bool run(std::string_view input) {
  return accepted([&] {
    const JournalText whole = read_journal_text(input, kInputName);
    if (whole.bytes > input.size()) broken("more bytes than there are");
    const JournalText again = read_journal_text(input.substr(0, whole.bytes), kInputName);
    if (again.entries.size() != whole.entries.size() || again.bytes != whole.bytes)
      broken("what is torn off changes what is whole");
    document_of(whole, kInputName);
  });
}

}  // namespace

const Target kJournal{"journal", seeds, run};

}  // namespace assay::fuzz
