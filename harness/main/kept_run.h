// What a command keeps of a run while it goes on: a journal (reports/journal.h) and, of `assay verify`, the run file, so that neither
// SIGKILL nor another run in the same folder loses what was finished; and how --resume goes on with it.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reports/journal.h"

namespace assay {

struct ResumeFlag {
  // A run's file or journal; kNewest: the newest in the folder of results that is of the same command line; empty: a run of its own.
  std::string file;
  static constexpr std::string_view kNewest = "true";  // what CLI11 gives a flag without a value
  bool given() const { return !file.empty(); }
};
void add_resume(CLI::App& command, ResumeFlag& flag);
// "--resume FILE" as one word, where FILE is the journal or file of a run: "--resume PATTERN" is none.
std::vector<std::string> with_joined_resume(std::vector<std::string> words);

// The folder of results where no flag names one: $ASSAY_OUT or assay-out.
std::string default_folder();

class KeptRun {
 public:
  // `stem` names the files: STEM.journal and, if `has_file`, STEM.json, which earlier ones of that name are moved away for (STEM-2.json, ..).
  // `inputs` are files that the results depend on. Throws UsageError where --resume finds nothing to go on with, or what it finds is of
  // another run, program or input. Where no journal can be written that is said once, and the run goes on without.
  KeptRun(std::string command, std::string stem, bool has_file, std::string folder, const ResumeFlag& resume,
          const std::vector<std::string>& inputs);
  ~KeptRun();

  Journal* journal() { return journal_.get(); }
  // Writes file(), which is "FOLDER/run.json", a name of that kind that is free, or empty without a journal. Throws FileError.
  void write(const std::string& document);
  const std::string& file() const { return file_; }

  // Writes what there is by now, now and then, in a hundredth of the time: `document` to file() and to `others`, those of --json. Not
  // thread-safe.
  void snapshot(const std::function<std::string()>& document, const std::vector<std::string>& others);
  // The same of what the journal comes to.
  void snapshot(const std::vector<std::string>& others);
  // The document as it is written last: if the run ended before its end, with the name of its journal, which is kept.
  std::string last(const std::string& document, bool finished) const;
  // After that: without the journal, or with a word of how to go on.
  void end(bool finished);

 private:
  void go_on(const ResumeFlag& resume, const std::string& folder, const RunIdentity& now);
  void begin(const std::string& folder, const RunIdentity& now);

  std::string command_, stem_;
  bool has_file_;
  std::unique_ptr<Journal> journal_;
  std::string file_;
  bool ended_ = false;
  std::string made_folder_;   // by this run
  bool takes_place_ = false;  // of a file of an earlier run, which is to be moved away before
  std::string placeholder_;   // until there is a file
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace assay
