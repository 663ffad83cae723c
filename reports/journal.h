// Journals: what a run has finished, line by line, so that nothing of it is lost however the run ends.
//
//   {"format": "assay.journal/1", "id", "run": {"command", "asked": [word], "program", "inputs": {file: hash}, "environment": {name: value}}}
//   {"document": {...}}                               a file of the command's own format, as it is before anything was finished
//   {"key", "at", "add": {"results": [...]}, "more"}  what was finished: what it adds to lists of the document; what going on needs besides
//
// Each line is written by one call. What ended in the middle of a line is no line. A run's file says by its keys "journal" and "id" where
// its journal was, as long as there is one, and by "snapshot" that the journal may know more than the file.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file.h"

namespace assay {

inline constexpr std::string_view kJournalFormat = "assay.journal/1", kJournalEnding = ".journal";

// Which run a journal is of: who goes on with it must be asked the same, and be the same.
struct RunIdentity {
  std::string command;                             // "verify"
  std::vector<std::string> asked;                  // words of the command line that decide what is done
  std::string program;                             // of its build
  std::map<std::string, std::string> inputs;       // file -> what stands for its contents
  std::map<std::string, std::string> environment;  // variables that decide which code runs
};
// Why what was begun as `begun` cannot be gone on with as `now`, in words; empty if it can.
std::string difference(const RunIdentity& begun, const RunIdentity& now);

struct JournalEntry {
  std::string key;
  double at = 0;             // seconds since the run began, those of the parts before included
  nlohmann::json add, more;  // may be null
};

struct JournalText {
  std::string id;
  RunIdentity run;
  std::optional<nlohmann::json> document;
  std::vector<JournalEntry> entries;  // in the order in which they were written
  std::size_t bytes = 0;              // of whole lines
};
// Throws FileError for what is no journal; a torn last line is none.
JournalText read_journal_text(std::string_view text, const std::string& name);

class Journal {
 public:
  // A new file. Throws FileError, also if it exists.
  Journal(const std::string& path, const RunIdentity& run);
  // Goes on with what is there. Throws FileError if it is no journal, or another process writes to it.
  explicit Journal(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const RunIdentity& run() const { return run_; }
  const std::string& path() const { return path_; }
  const std::string& id() const { return id_; }
  // The entry of this key that was there when it was opened, or null.
  const JournalEntry* find(const std::string& key) const;
  // Time that the run had taken until then.
  double before() const { return before_; }
  bool is_resumed() const { return resumed_; }
  // Whether a document was given: before, there is nothing in it that anybody would miss.
  bool has_begun() const;

  // Thread-safe. What cannot be written is no reason to end a run: see lost().
  void begin(const nlohmann::json& document);  // if there is no document yet
  void add(const std::string& key, double at, nlohmann::json add, nlohmann::json more = nullptr);
  // Why something could not be written, or empty.
  std::string lost() const;
  // All of it stands in the run's own file now.
  void remove();
  // It lies elsewhere now.
  void moved(const std::string& path) { path_ = path; }

 private:
  void write(const nlohmann::json& line);

  std::string path_, id_;
  int file_ = -1;
  RunIdentity run_;
  std::map<std::string, JournalEntry> found_;
  double before_ = 0;
  bool resumed_ = false, begun_ = false;
  mutable std::mutex mutex_;
  std::string lost_;
};

// What the run's file would be if it were written now. Throws FileError for one that has nothing yet.
std::string document_of(const JournalText& journal, const std::string& name);

// read_file() of a run's file, which gzip may have compressed: where that is a journal, or a snapshot beside its journal, it is what
// the journal comes to. Throws FileError.
std::string read_document(const std::string& path);
// The journal that a run's file names, or nothing; a journal itself is its own.
std::optional<std::string> journal_of(const std::string& path);
// The text of a run's file, with the keys that name its journal.
std::string with_journal(const std::string& document, const Journal& journal, bool snapshot);

}  // namespace assay
