#include "kept_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "../registry/parts.h"
#include "commands.h"
#include "commit.h"
#include "reports/text.h"
#include "terminal.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBetweenSnapshots{5};
constexpr int kShareOfSnapshots = 100;  // of the time, one part

// Flags that say how and where, and nothing of what is found.
const std::set<std::string, std::less<>> kBeside{"--json", "--junit", "--html", "--out", "-o", "--output", "--jobs", "--resume"};

std::vector<std::string> asked() {
  const std::vector<std::string>& given = command_line();
  std::vector<std::string> words;
  bool of_program = false;  // after "--"
  for (std::size_t i = 1; i < given.size(); ++i) {
    const std::string_view word = given[i];
    of_program = of_program || word == "--";
    if (of_program) {
      words.push_back(given[i]);
      continue;
    }
    const std::size_t equals = word.find('=');
    if (!kBeside.contains(word.substr(0, equals)))
      words.push_back(given[i]);
    else if (equals == std::string_view::npos && word != "--resume")
      ++i;
  }
  return words;
}

std::string stamp(const fs::path& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0
             ? fmt::format("{:x}.{:x}.{:x}", s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec)
             : "";
}

std::string program_identity() {
  std::string text = fmt::format("{} {}", built_from.empty() ? "unknown commit" : built_from, stamp(this_program()));
  text += fmt::format(" {}", stamp(kernel_library(this_program(), "cpu")));
  for (const Part& part : parts())
    if (is_built(this_program(), part))
      text += fmt::format(" {} {}", part.name, stamp(kernel_library(this_program(), part.library)));
  return text;
}

// FNV over eight bytes at a time: to see that a file is another one, which nobody made to look the same.
std::string hash_of(const std::string& path) {
  const std::string bytes = read_file(path);
  std::uint64_t h = 0xcbf29ce484222325ULL ^ bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t some = 0;
    std::memcpy(&some, bytes.data() + at, std::min(sizeof some, bytes.size() - at));
    h = (h ^ some) * 0x100000001b3ULL;
    h ^= h >> 29;
  }
  return fmt::format("{:016x}", h);
}

RunIdentity identity(const std::string& command, const std::vector<std::string>& inputs) {
  RunIdentity run;
  run.command = command;
  run.asked = asked();
  run.program = program_identity();
  std::error_code error;
  for (const std::string& file : inputs)
    if (!file.empty() && fs::is_regular_file(file, error)) run.inputs[file] = hash_of(file);
  for (const char* name : {"ATEN_CPU_CAPABILITY", "ASSAY_TORCH_PYTHON", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE",
                           "LD_PRELOAD", "LD_LIBRARY_PATH", "ASSAY_CUBLASLT", "ASSAY_CUDNN"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') run.environment[name] = value;
  return run;
}

// A file of that name that is new, held by whoever writes to it. -1: it is there, or cannot be.
bool claims(const fs::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return false;
  ::close(file);
  return true;
}

std::string numbered(const std::string& stem, int number) {
  return number == 1 ? stem : fmt::format("{}-{}", stem, number);
}

// Gives the file a name that no other has; empty if it cannot.
std::string moved_away(const fs::path& folder, const std::string& stem) {
  for (int number = 2;; ++number) {
    const fs::path to = folder / (numbered(stem, number) + ".json");
    const fs::path journal = folder / (numbered(stem, number) + std::string(kJournalEnding));
    std::error_code error;
    if (fs::exists(journal, error)) continue;
    if (::link((folder / (stem + ".json")).c_str(), to.c_str()) == 0) {
      ::unlink((folder / (stem + ".json")).c_str());
      return numbered(stem, number);
    }
    if (errno == EEXIST) continue;
    return {};
  }
}

// What a run left that was killed, under a name of its own. False if it goes on still.
bool move_dead_run(const fs::path& folder, const std::string& stem) {
  const fs::path journal = folder / (stem + std::string(kJournalEnding));
  const int file = ::open(journal.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT;
  const bool dead = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  if (dead) {
    std::string name = moved_away(folder, stem);
    for (int number = 2; name.empty(); ++number)  // it had no file yet
      if (claims(folder / (numbered(stem, number) + ".json"))) {
        name = numbered(stem, number);
        ::unlink((folder / (name + ".json")).c_str());
      }
    ::rename(journal.c_str(), (folder / (name + std::string(kJournalEnding))).c_str());
  }
  ::close(file);
  return dead;
}

bool is_of_run(const std::string& word) {
  std::error_code error;
  return (word.ends_with(kJournalEnding) || word.ends_with(".json")) && fs::is_regular_file(word, error);
}

}  // namespace

std::string default_folder() {
  const char* const variable = std::getenv("ASSAY_OUT");
  return variable != nullptr && *variable != '\0' ? variable : "assay-out";
}

void add_resume(CLI::App& command, ResumeFlag& flag) {
  command
      .add_flag("--resume", flag.file,
                "go on with a run of the same command line that was interrupted or killed: what it had finished is "
                "taken from its journal (--resume FILE: of this run file or journal; else the newest in the folder of "
                "results)")
      ->type_name("[FILE]");
}

std::vector<std::string> with_joined_resume(std::vector<std::string> words) {
  for (std::size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i)
    if (words[i] == "--resume" && is_of_run(words[i + 1])) {
      words[i] += "=" + words[i + 1];
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  return words;
}

KeptRun::KeptRun(std::string command, std::string stem, bool has_file, std::string folder,
                 const ResumeFlag& resume, const std::vector<std::string>& inputs)
    : command_(std::move(command)), stem_(std::move(stem)), has_file_(has_file) {
  const RunIdentity now = identity(command_, inputs);
  if (resume.given())
    go_on(resume, folder, now);
  else
    begin(folder, now);
  if (!has_file_) return;
  if (!journal_) takes_place_ = true;
  file_ = journal_ ? fs::path(journal_->path()).replace_extension(".json").string()
                   : (fs::path(folder) / (stem_ + ".json")).string();
}

KeptRun::~KeptRun() {
  if (journal_ && !journal_->is_resumed() && !journal_->has_begun()) {  // nothing came of it
    journal_->remove();
    if (!placeholder_.empty()) ::unlink(placeholder_.c_str());
  }
  if (journal_ && journal_->has_begun() && !ended_) end(false);  // an interrupt, or an error
  if (made_folder_.empty()) return;
  journal_.reset();
  ::rmdir(made_folder_.c_str());  // if nothing is left in it
}

void KeptRun::go_on(const ResumeFlag& resume, const std::string& folder, const RunIdentity& now) {
  if (resume.file != ResumeFlag::kNewest) {
    const std::optional<std::string> journal = journal_of(resume.file);
    if (!journal)
      throw UsageError(fmt::format("--resume {}: it has no journal: that run was finished, or none was written",
                                   resume.file));
    if (const std::string why = difference(read_journal_text(read_file(*journal), *journal).run, now);
        !why.empty())
      throw UsageError(fmt::format("--resume {}: {}", resume.file, why));
    journal_ = std::make_unique<Journal>(*journal);
    return;
  }
  std::vector<std::pair<fs::file_time_type, std::string>> journals;
  std::error_code error;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, error))
    if (e.path().extension() == kJournalEnding) journals.emplace_back(e.last_write_time(error), e.path().string());
  std::ranges::sort(journals, std::greater<>());
  std::string why_not;
  for (const auto& [time, path] : journals) {
    try {
      const JournalText text = read_journal_text(read_file(path), path);
      if (text.run.command != command_) continue;
      if (const std::string why = difference(text.run, now); !why.empty()) {
        if (why_not.empty()) why_not = fmt::format("{}: {}", path, why);
        continue;
      }
      journal_ = std::make_unique<Journal>(path);
      return;
    } catch (const FileError& e) {
      if (why_not.empty()) why_not = e.what();
    }
  }
  throw UsageError(why_not.empty()
                       ? fmt::format("--resume: {} has no journal of `assay {}` to go on with", folder, command_)
                       : fmt::format("--resume: {}", why_not));
}

void KeptRun::begin(const std::string& folder, const RunIdentity& now) {
  std::error_code error;
  try {
    if (fs::create_directories(folder, error)) made_folder_ = folder;
    if (error) throw FileError(fmt::format("cannot create the folder {}: {}", folder, error.message()));
    const int first = has_file_ && !move_dead_run(folder, stem_) ? 2 : 1;
    for (int number = first; !journal_; ++number) {
      const std::string name = numbered(stem_, number);
      const fs::path journal = fs::path(folder) / (name + std::string(kJournalEnding));
      const fs::path file = fs::path(folder) / (name + ".json");
      if (fs::exists(journal, error)) continue;
      if (has_file_ && number > 1 && !claims(file)) {
        if (errno == EEXIST) continue;
        throw FileError(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
      }
      try {
        journal_ = std::make_unique<Journal>(journal.string(), now);
      } catch (const FileError&) {
        if (has_file_ && number > 1) ::unlink(file.c_str());
        if (!fs::exists(journal, error)) throw;
        continue;  // another run was faster
      }
      takes_place_ = has_file_ && number == 1;
      placeholder_ = has_file_ && number > 1 ? file.string() : "";
    }
  } catch (const FileError& e) {
    complain(fmt::format("warning: {}; what is finished is not kept while the run goes on", e.what()));
  }
}

void KeptRun::write(const std::string& document) {
  std::error_code error;
  if (std::exchange(takes_place_, false) && fs::exists(file_, error))
    moved_away(fs::path(file_).parent_path(), stem_);
  placeholder_.clear();
  write_file(file_, document);
}

void KeptRun::snapshot(const std::function<std::string()>& document, const std::vector<std::string>& others) {
  const auto begin = Clock::now();
  if (!journal_ || begin < next_) return;
  try {
    const std::string text = with_journal(document(), *journal_, true);
    if (!file_.empty()) write(text);
    for (const std::string& other : others)
      if (!other.empty() && other != "-") write_file(other, text);
  } catch (const FileError& e) {  // the next time, or at the end, there may be room
    complain(e.what());
  }
  const auto now = Clock::now();
  next_ = now + std::max<Clock::duration>(kBetweenSnapshots, kShareOfSnapshots * (now - begin));
}

void KeptRun::snapshot(const std::vector<std::string>& others) {
  if (journal_ && std::ranges::any_of(others, [](const std::string& f) { return !f.empty() && f != "-"; }))
    snapshot([this] { return document_of(read_journal_text(read_file(journal_->path()), journal_->path()), journal_->path()); },
             others);
}

std::string KeptRun::last(const std::string& document, bool finished) const {
  return finished || !journal_ ? document : with_journal(document, *journal_, false);
}

void KeptRun::end(bool finished) {
  ended_ = true;
  if (!journal_) return;
  if (const std::string why = journal_->lost(); !why.empty()) complain("warning: " + why);
  if (finished)
    journal_->remove();
  else
    complain(fmt::format("the same command with --resume goes on ({})", journal_->path()));
}

}  // namespace assay
