// Google Benchmark drives `assay bench`: it chooses, repeats, orders and reports. Each of its benchmarks is one kernel of one case; the
// benchmark's manual time is that of our rounds, in which the kernels of a case are timed in turns.
//
//   GoogleBenchmark google({"--benchmark_filter=relu.*cpu", "--benchmark_repetitions=3"});
//   google.choose(plan(registry, options));
//   google.drive({.measure = [&](const BenchGroup& g, int) { return bench.measure(g); },
//                 .timed = [&](const std::vector<BenchRow>& rows, int) { print(rows); }});
//
// Its flags are the process's: one of these at a time. Source: the user guide of Google Benchmark 1.7.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"

namespace assay {

// Whether a word of a command line is Google Benchmark's, which begin with "--benchmark_".
bool is_google_word(const std::string& word);
// Takes the words that are Google Benchmark's out of a command line.
std::vector<std::string> taken_for_google(std::vector<std::string>& words);

class GoogleBenchmark {
 public:
  // Throws std::invalid_argument that names a word which Google Benchmark does not know, or which cannot be meant here.
  explicit GoogleBenchmark(std::vector<std::string> words);
  ~GoogleBenchmark();

  bool lists()
      const;  // only the names are asked for, --benchmark_list_tests: drive() prints them and times nothing
  bool shows() const;  // its own report is asked for on standard output, --benchmark_format
  int repetitions() const { return repetitions_; }
  std::size_t chosen_rows() const;  // of all repetitions; after choose()

  // Registers a benchmark for each kernel of each group, and finds out which of them the filter chooses. `groups` must outlive this.
  // A kernel that stands in several groups belongs to the first. Returns how many times drive() will ask for rows. Throws
  // std::invalid_argument if the filter is no regular expression, or chooses nothing.
  std::size_t choose(const std::vector<BenchGroup>& groups);

  struct Turns {
    // A row for each kernel of the group, those that were not chosen included; nothing to end the run.
    std::function<std::optional<std::vector<BenchRow>>(const BenchGroup& group, int repetition)> measure;
    // Those of them that were chosen.
    std::function<void(const std::vector<BenchRow>& rows, int repetition)> timed;
  };
  // Runs what was chosen, in Google Benchmark's order.
  void drive(const Turns& turns);

 private:
  struct Entry;
  class Reporter;
  Entry* entry_named(const std::string& name);
  const BenchRow* row_of(Entry& entry, int repetition);

  std::vector<std::string> words_;
  int repetitions_ = 1;
  bool ended_ = false;
  const Turns* turns_ = nullptr;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<std::string, Entry*> by_name_;
  std::map<std::pair<const BenchGroup*, int>, std::vector<BenchRow>> measured_;
};

}  // namespace assay
