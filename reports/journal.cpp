#include "journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>

#include "gzip.h"
#include "merge.h"
#include "run_file.h"
#include "text.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kNamesJournal = "{\"journal\": ";  // as with_journal() writes it
constexpr std::size_t kFailuresShown = 24;                    // of one kind in a row
constexpr std::string_view kCut = "it was not written to its end: the run was killed, or goes on still";

constexpr std::string_view kFirstLine = "{\"format\":\"assay.journal/1\"";

// Of a journal; empty of what is none.
std::string id_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const json first = json::parse(line, nullptr, false);
  return first.is_object() && first.value("id", json()).is_string() ? first["id"].get<std::string>() : "";
}

json to_json(const RunIdentity& run) {
  return {{"command", run.command},
          {"asked", run.asked},
          {"program", run.program},
          {"inputs", run.inputs},
          {"environment", run.environment}};
}

RunIdentity identity_of(const json& j) {
  return {j.at("command").get<std::string>(), j.at("asked").get<std::vector<std::string>>(),
          j.at("program").get<std::string>(), j.at("inputs").get<std::map<std::string, std::string>>(),
          j.at("environment").get<std::map<std::string, std::string>>()};
}

// A case in place of what the row has of it: with its case file.
void replace_failures(std::vector<Row>& rows, const std::vector<Row>& recorded) {
  for (const Row& r : recorded)
    for (Row& row : rows)
      if (row.op == r.op && row.impl == r.impl && row.dtype == r.dtype) row.failures = r.failures;
}

void keep_first_failures(Row& row) {
  std::map<Verdict, std::size_t> of_kind;
  std::erase_if(row.failures, [&](const Failure& f) { return ++of_kind[f.kind] > kFailuresShown; });
}

// Rows of the parts are one row, as those of shards are.
std::string summed_run(const json& document, const std::string& name) {
  RunResult run = run_from_json(document.dump(), name);
  run.rows = summed(std::move(run.rows));
  for (Row& row : run.rows) keep_first_failures(row);
  std::vector<Row> recorded;
  if (const auto at = document.find("recorded"); at != document.end())
    for (const json& row : *at) recorded.push_back(row_from_json(row.dump(), name));
  replace_failures(run.rows, recorded);
  return to_json(run);
}

// Benchmark files say of themselves what they are where Google Benchmark has its context.
json& own_keys(json& document) {
  return document.contains("context") ? document["context"]["assay"] : document;
}

}  // namespace

std::string difference(const RunIdentity& begun, const RunIdentity& now) {
  if (begun.command != now.command)
    return fmt::format("it is of `assay {}`, and this is `assay {}`", begun.command, now.command);
  if (begun.asked != now.asked)
    return fmt::format("it was asked \"{}\", and this is \"{}\": the flags must be the same",
                       fmt::join(begun.asked, " "), fmt::join(now.asked, " "));
  if (begun.program != now.program)
    return fmt::format("it was begun by another build of Assay: {}, and this is {}", begun.program, now.program);
  for (const auto& [file, hash] : now.inputs)
    if (const auto at = begun.inputs.find(file); at != begun.inputs.end() && at->second != hash)
      return fmt::format("{} is not what it was then", file);
  if (begun.inputs != now.inputs) return "it was begun with other files";
  for (const auto& [name, value] : now.environment)
    if (const auto at = begun.environment.find(name); at == begun.environment.end() || at->second != value)
      return fmt::format("the variable {} is \"{}\" now, and was \"{}\"", name, value,
                         at == begun.environment.end() ? "" : at->second);
  if (begun.environment != now.environment) return "it was begun with other variables in the environment";
  return {};
}

JournalText read_journal_text(std::string_view text, const std::string& name) {
  JournalText journal;
  const auto fail = [&](const std::string& why) {
    throw FileError(fmt::format("cannot read {}: {}", name, why));
  };
  bool first = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;  // torn
    const json line = json::parse(text.substr(at, end - at), nullptr, false);
    try {
      if (first) {
        if (line.is_discarded() || line.at("format") != kJournalFormat) fail("it is no journal of Assay");
        journal.id = line.at("id").get<std::string>();
        journal.run = identity_of(line.at("run"));
      } else if (line.is_discarded()) {
        break;  // nothing after it can be relied on
      } else if (line.contains("document")) {
        journal.document = line.at("document");
      } else {
        journal.entries.push_back({line.at("key").get<std::string>(), line.at("at").get<double>(),
                                   line.value("add", json()), line.value("more", json())});
      }
    } catch (const json::exception& e) {
      fail(fmt::format("it is no journal of Assay: {}", e.what()));
    }
    first = false;
    at = journal.bytes = end + 1;
  }
  if (first) fail("it has no line: the run ended before it began");
  return journal;
}

Journal::Journal(const std::string& path, const RunIdentity& run) : path_(path), run_(run) {
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) throw FileError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  ::flock(file_, LOCK_EX | LOCK_NB);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  id_ = fmt::format("{:x}-{:x}-{:x}", now.tv_sec, now.tv_nsec, ::getpid());
  write({{"format", kJournalFormat}, {"id", id_}, {"run", to_json(run)}});
  if (!lost_.empty()) throw FileError(std::exchange(lost_, {}));
}

Journal::Journal(const std::string& path) : path_(path), resumed_(true) {
  file_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) throw FileError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  try {
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0)
      throw FileError(fmt::format("{} is written by a run that goes on still", path));
    JournalText text = read_journal_text(read_file(path), path);
    if (::ftruncate(file_, static_cast<off_t>(text.bytes)) != 0)
      throw FileError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    run_ = std::move(text.run);
    id_ = std::move(text.id);
    begun_ = text.document.has_value();
    for (JournalEntry& e : text.entries) {
      before_ = std::max(before_, e.at);
      found_.insert_or_assign(e.key, std::move(e));
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

const JournalEntry* Journal::find(const std::string& key) const {
  const auto at = found_.find(key);
  return at == found_.end() ? nullptr : &at->second;
}

void Journal::write(const json& line) {
  std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace);
  text += '\n';
  for (std::string_view rest = text; !rest.empty() && lost_.empty();) {
    const ssize_t n = ::write(file_, rest.data(), rest.size());
    if (n >= 0)
      rest.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR)
      lost_ = fmt::format("cannot write {}: {}; what is finished from now on is kept in memory alone", path_,
                          std::strerror(errno));
  }
}

void Journal::begin(const json& document) {
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(begun_, true)) write({{"document", document}});
}

void Journal::add(const std::string& key, double at, json add, json more) {
  json line{{"key", key}, {"at", at}};
  if (!add.is_null()) line["add"] = std::move(add);
  if (!more.is_null()) line["more"] = std::move(more);
  const std::scoped_lock lock(mutex_);
  if (lost_.empty()) write(line);
}

bool Journal::has_begun() const {
  const std::scoped_lock lock(mutex_);
  return begun_;
}

std::string Journal::lost() const {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

void Journal::remove() { ::unlink(path_.c_str()); }

std::string document_of(const JournalText& journal, const std::string& name) {
  if (!journal.document)
    throw FileError(fmt::format("cannot read {}: the run ended before anything was finished", name));
  json document = *journal.document;
  double seconds = 0;
  std::string format;
  try {
    format = document.value("format", "");
    for (const JournalEntry& e : journal.entries) {
      seconds = std::max(seconds, e.at);
      for (const auto& [list, items] : e.add.items())
        for (const json& item : items) document[list].push_back(item);
    }
    json& own = own_keys(document);
    own["complete"] = false;
    own["incomplete"] = kCut;
    own["seconds"] = seconds;
  } catch (const json::exception& e) {  // of another shape than this program writes
    throw FileError(fmt::format("cannot read {}: it is no journal of Assay: {}", name, e.what()));
  }
  if (format.starts_with("assay.run/")) return summed_run(document, name);
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<std::string> journal_of(const std::string& path) {
  const std::string text = read_text(path);
  if (text.starts_with(kFirstLine)) return path;
  if (!text.starts_with(kNamesJournal)) return std::nullopt;
  std::string line = text.substr(0, text.find('\n'));
  if (line.ends_with(',')) line.back() = '}';
  const json keys = json::parse(line, nullptr, false);
  if (!keys.is_object() || !keys.value("journal", json()).is_string() || !keys.value("id", json()).is_string())
    return std::nullopt;
  const fs::path named = keys["journal"].get<std::string>();
  std::error_code error;
  std::vector<fs::path> candidates{fs::path(path).replace_extension(kJournalEnding), named,
                                   fs::path(path).parent_path() / named.filename()};
  for (const fs::directory_entry& e : fs::directory_iterator(named.parent_path(), error))
    if (e.path().extension() == kJournalEnding) candidates.push_back(e.path());
  for (const fs::path& at : candidates)
    if (fs::is_regular_file(at, error) && id_of(at.string()) == keys["id"]) return at.string();
  return std::nullopt;
}

std::string read_document(const std::string& path) {
  const std::string text = read_text(path);
  if (text.starts_with(kFirstLine))
    return document_of(read_journal_text(text, path), path);
  const std::size_t line = std::min(text.find('\n'), text.size());
  if (path == "-" || !text.starts_with(kNamesJournal) ||
      text.substr(0, line).find("\"snapshot\": true") == std::string::npos)
    return text;
  const std::optional<std::string> journal = journal_of(path);
  if (!journal) return text;
  const JournalText known = read_journal_text(read_file(*journal), *journal);
  return known.document ? document_of(known, *journal) : text;
}

std::string with_journal(const std::string& document, const Journal& journal, bool snapshot) {
  return fmt::format("{}{}, \"id\": \"{}\"{},\n{}", kNamesJournal,
                     json(fs::absolute(journal.path()).string()).dump(-1, ' ', false, json::error_handler_t::replace),
                     journal.id(), snapshot ? ", \"snapshot\": true" : "", document.substr(1));
}

}  // namespace assay
