// Which processors and which memory a benchmark runs on.
#pragma once

#include <map>
#include <string>
#include <vector>

struct bitmask;  // libnuma's

namespace assay {

struct Placement {
  std::string cpus;                // "3" or "2-3,5", as numactl takes them; empty: not pinned
  std::string node;                // of the memory; empty: not bound
  std::vector<std::string> notes;  // what the system forbids, in plain words
};

// Where to run `threads` threads: of the processors that this process may use, the last ones (interrupts like the first), or
// those of `cpus`; memory on `node`, or on the processors' own if that is empty. Throws std::invalid_argument that names --cpus or --membind
// for a list that is none, or names processors or nodes that there are not.
Placement choose_placement(const std::string& cpus, const std::string& node, int threads);

// "numactl --physcpubind=3 --membind=0", or empty where nothing is pinned.
std::string numactl_line(const Placement& placement);

// Of each number of threads that is timed.
using Placements = std::map<int, Placement>;
// One line for each: of a single number of threads as above, else "1 thread: numactl ..", "2 threads: ..".
std::vector<std::string> numactl_lines(const Placements& placements);

// This thread, and with it what it starts, as long as the object lives. Does nothing where the system refuses, or for no list.
class Pinned {
 public:
  explicit Pinned(const std::string& cpus);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  bitmask* before_ = nullptr;
};

// Pins this process and what it starts. Throws std::runtime_error where the system refuses.
void place_this_process(const std::string& cpus, const std::string& node);

}  // namespace assay
