// Looks at every access of a kernel to memory: races, bounds, memory that nobody has written, alignment.
//
// Kernels are compiled with -fsanitize=thread, which calls a function for each access in the source, but are linked with
// the functions of hooks.cpp, and not with ThreadSanitizer. They are the same kernels whether the checker is wanted or not. For each byte the checker knows who wrote it last, of writers
// that are atomic two, and two that have read it since. "Who" is a segment: what one thread does between two points at
// which it waits for others. Two accesses to one byte, one of them a write and not both atomic, race unless something lies
// between them that orders them: they are of one thread; or of one block with a barrier in between; or of one warp with a
// __syncwarp() in between that names both lanes. Shuffles and votes order nothing. So races are found whatever order the
// threads ran in, those of different blocks, too.
#include "checker.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "block.h"
#include "statistics.h"
#include "text.h"
#include "vocabulary/access_counts.h"

namespace assay::cuda::emulation {

CheckerSwitch checker_switch{.wanted = std::getenv(kCheckVariable) != nullptr};

namespace {

using Address = std::uintptr_t;
using SegmentId = std::uint32_t;
constexpr SegmentId kNobody = 0;   // a byte that nobody has written
constexpr SegmentId kOutside = 1;  // or that was written before the kernel

struct Segment {
  std::uint32_t block, thread;
  std::uint64_t since;  // the event that began it
};

struct Access {
  SegmentId segment = kNobody;
  std::uint32_t pc = 0;  // from the beginning of the library; the highest bit: atomic
};
constexpr std::uint32_t kAtomic = 1u << 31;

struct Byte {
  Access writer, other_writer, reader, other_reader;
};

struct Region {
  Address begin, end;
  std::string name;
  bool writable, shared;
  std::vector<Byte> bytes;
};

struct Range {
  Address begin, end;
  bool contains(Address a) const { return a >= begin && a < end; }
};

struct Checker {
  std::map<Address, Region> regions;
  Region* last = nullptr;
  std::vector<Range> own;  // memory that is no kernel's business: stacks, constants, arguments
  Address base = 0;        // of this library

  // Of the launch.
  SegmentId first_of_launch = 2;
  std::vector<Segment> segments;  // from that one
  std::uint64_t event = 0;
  std::uint32_t block = 0;
  std::uint64_t last_barrier = 0;
  unsigned thread = 0;
  std::array<SegmentId, kMaxThreads> current{};  // kNobody: a new one begins with the next access
  // For each pair of lanes of a warp the last event that ordered them.
  std::array<std::array<std::array<std::uint64_t, kWarp>, kWarp>, kMaxThreads / kWarp> synchronised{};
};

// Never destroyed: kernels' memory may be let go of after main.
Checker& checker() {
  static Checker& the = *new Checker;
  return the;
}

std::uint32_t offset_of(const void* pc) {
  return static_cast<std::uint32_t>(reinterpret_cast<Address>(pc) - checker().base) & ~kAtomic;
}

// "optimized/cuda/sum.cu:31", by the debug information of this library.
std::string place(std::uint32_t pc) {
  Dl_info library;
  if (dladdr(reinterpret_cast<void*>(&offset_of), &library) == 0) return "?";
  char command[4400];
  std::snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%x 2>/dev/null", library.dli_fname,
                (pc & ~kAtomic) - 1);
  std::string lines;
  if (FILE* out = popen(command, "r")) {
    char buffer[512];
    while (std::fgets(buffer, sizeof buffer, out) != nullptr) lines += buffer;
    pclose(out);
  }
  return place_of_frames(lines);
}

const Segment& segment_of(SegmentId id) { return checker().segments[id - checker().first_of_launch]; }

std::string who(SegmentId id) {
  const Segment& s = segment_of(id);
  return "block " + std::to_string(s.block) + " thread " + std::to_string(s.thread);
}

[[noreturn]] void stop(const std::string& what) { Scheduler::running()->fail(what); }

std::string at(const Region& region, Address address) {
  return std::string(region.shared ? "shared memory " : "") + region.name + " at byte " +
         std::to_string(address - region.begin);
}

bool ordered(SegmentId earlier) {
  Checker& c = checker();
  if (earlier < c.first_of_launch) return true;
  const Segment& s = segment_of(earlier);
  if (s.block != c.block) return false;
  if (s.thread == c.thread || s.since < c.last_barrier) return true;
  return s.thread / kWarp == c.thread / kWarp &&
         s.since < c.synchronised[c.thread / kWarp][s.thread % kWarp][c.thread % kWarp];
}

[[noreturn]] void race(const char* kind, const Region& region, Address address, Access now, Access earlier) {
  stop(std::string("race, ") + kind + ", on " + at(region, address) + ": " + who(now.segment) + " at " +
       place(now.pc) + ", " + who(earlier.segment) + " at " + place(earlier.pc) +
       ", nothing in between orders them");
}

Region* region_of(Address address) {
  Checker& c = checker();
  if (c.last != nullptr && address >= c.last->begin && address < c.last->end) return c.last;
  auto found = c.regions.upper_bound(address);
  if (found == c.regions.begin()) return nullptr;
  --found;
  if (address >= found->second.end) return nullptr;
  return c.last = &found->second;
}

bool is_own(Address address) {
  for (const Range& r : checker().own)
    if (r.contains(address)) return true;
  for (const void* v : {static_cast<const void*>(&threadIdx), static_cast<const void*>(&blockIdx),
                        static_cast<const void*>(&blockDim), static_cast<const void*>(&gridDim)})
    if (address - reinterpret_cast<Address>(v) < sizeof(dim3)) return true;
  return Scheduler::running()->on_stack(reinterpret_cast<const void*>(address));
}

[[noreturn]] void out_of_bounds(Address address, std::size_t bytes, bool write, std::uint32_t pc) {
  Checker& c = checker();
  std::string where = "which belongs to nothing that the kernel was given";
  constexpr Address kFar = 4096;
  const auto above = c.regions.upper_bound(address);
  const Address before = above == c.regions.end() ? kFar : above->first - address;
  const Address behind = above == c.regions.begin() ? kFar : address - std::prev(above)->second.end;
  if (before < behind && before < kFar)
    where = std::to_string(before) + " bytes before the beginning of " + above->second.name;
  else if (behind < kFar)
    where = std::to_string(behind) + " bytes after the end of " + std::prev(above)->second.name;
  stop(std::string("out of bounds: ") + (write ? "writes " : "reads ") + std::to_string(bytes) + " bytes, " +
       where + ": " + who(c.current[c.thread]) + " at " + place(pc));
}

Access begin_access(const void* pc, bool atomic) {
  Checker& c = checker();
  SegmentId& segment = c.current[c.thread];
  if (segment == kNobody) {
    segment = c.first_of_launch + static_cast<SegmentId>(c.segments.size());
    c.segments.push_back({c.block, c.thread, ++c.event});
  }
  return {segment, offset_of(pc) | (atomic ? kAtomic : 0)};
}

void look_at_byte(Region& region, Address address, Byte& byte, Access now, bool write) {
  const bool atomic = (now.pc & kAtomic) != 0;
  const auto clashes = [&](const Access& earlier) {
    return !(atomic && (earlier.pc & kAtomic) != 0) && !ordered(earlier.segment);
  };
  if ((!write || atomic) && byte.writer.segment == kNobody)
    stop("reads what nobody has written: " + at(region, address) + ", " + who(now.segment) + " at " +
         place(now.pc));
  for (const Access& earlier : {byte.writer, byte.other_writer})
    if (clashes(earlier)) race(write ? "two writes" : "a read and a write", region, address, now, earlier);
  if (write)
    for (const Access& earlier : {byte.reader, byte.other_reader})
      if (clashes(earlier)) race("a write and a read", region, address, now, earlier);
  // Two that nothing orders with each other, readers or atomic writers, are enough: what clashes with any clashes with one.
  Access& first = write ? byte.writer : byte.reader;
  Access& second = write ? byte.other_writer : byte.other_reader;
  if (ordered(second.segment)) second = {};
  (ordered(first.segment) ? first : second) = now;
}

void look_at(const void* memory, std::size_t bytes, bool write, bool atomic, const void* pc) {
  const auto address = reinterpret_cast<Address>(memory);
  Region* region = region_of(address);
  if (region == nullptr && is_own(address)) return;
  const Access now = begin_access(pc, atomic);
  if (region == nullptr || address + bytes > region->end) out_of_bounds(address, bytes, write, now.pc);
  // Other sizes are what cp.async reads of its 16 bytes, of which copies.cpp asks the alignment.
  if ((bytes & (bytes - 1)) == 0 && address % bytes != 0)
    stop("misaligned: " + std::to_string(bytes) + " bytes of " + at(*region, address) + ": " +
         who(now.segment) + " at " + place(now.pc));
  if (write && !region->writable) stop("writes an input: " + who(now.segment) + " at " + place(now.pc));
  for (std::size_t i = 0; i < bytes; ++i)
    look_at_byte(*region, address + i, region->bytes[address - region->begin + i], now, write);
  count_access({.pc = now.pc & ~kAtomic,
                .thread = checker().thread,
                .address = address,
                .bytes = static_cast<std::uint32_t>(bytes),
                .shared = region->shared,
                .write = write});
}

// The memory of this library itself: constants and tables.
void find_own_image() {
  Checker& c = checker();
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        auto& the = *static_cast<Checker*>(found);
        const auto self = reinterpret_cast<Address>(&offset_of);
        std::vector<Range> image;
        bool here = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
          const Address begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
          image.push_back({begin, begin + info->dlpi_phdr[i].p_memsz});
          here = here || image.back().contains(self);
        }
        if (!here) return 0;
        the.base = info->dlpi_addr;
        the.own = image;
        return 1;
      },
      &c);
}

void add(const void* memory, std::size_t bytes, const char* name, bool writable, bool shared) {
  Checker& c = checker();
  const auto begin = reinterpret_cast<Address>(memory);
  const SegmentId writer = writable ? kNobody : kOutside;
  c.last = nullptr;
  // A call in place: the result is an input, too.
  if (const auto found = c.regions.find(begin); found != c.regions.end() && !shared) {
    Region& region = found->second;
    region.writable = region.writable || writable;
    region.end = std::max(region.end, begin + bytes);
    region.bytes.resize(region.end - begin, Byte{{kOutside, 0}, {}, {}, {}});
    if (!writable)
      for (Byte& b : region.bytes) b.writer.segment = kOutside;
    return;
  }
  c.regions[begin] = {begin,    begin + bytes, name,
                      writable, shared,        std::vector<Byte>(bytes, {{writer, 0}, {}, {}, {}})};
}

}  // namespace

namespace checking {

void memory(const void* address, std::size_t bytes, const char* name, bool writable) {
  if (bytes != 0) add(address, bytes, name, writable, false);
}

void forget(const void* address) {
  checker().regions.erase(reinterpret_cast<Address>(address));
  checker().last = nullptr;
}

void begin(const Launch& launch) {
  Checker& c = checker();
  if (c.own.empty()) find_own_image();
  const auto arguments = reinterpret_cast<Address>(launch.arguments);
  c.own.push_back({arguments, arguments + launch.arguments_bytes});
  c.first_of_launch += static_cast<SegmentId>(c.segments.size());
  c.segments.clear();
}

void end() {
  count_block();
  Checker& c = checker();
  c.own.pop_back();
  for (auto r = c.regions.begin(); r != c.regions.end();)
    r = r->second.shared ? c.regions.erase(r) : std::next(r);
  c.last = nullptr;
}

void block(uint3 index) {
  Checker& c = checker();
  for (auto r = c.regions.begin(); r != c.regions.end();)
    r = r->second.shared ? c.regions.erase(r) : std::next(r);
  c.last = nullptr;
  c.block = index.x + gridDim.x * (index.y + gridDim.y * index.z);
  c.current.fill(kNobody);
  count_block();
}

void thread(unsigned thread) { checker().thread = thread; }

void barrier() {
  Checker& c = checker();
  c.last_barrier = ++c.event;
  c.current.fill(kNobody);
}

void warp(unsigned warp, unsigned mask, bool orders_memory) {
  if (!orders_memory) return;
  Checker& c = checker();
  ++c.event;
  for (unsigned a = 0; a < kWarp; ++a) {
    if ((mask >> a & 1) == 0) continue;
    c.current[warp * kWarp + a] = kNobody;
    for (unsigned b = 0; b < kWarp; ++b)
      if ((mask >> b & 1) != 0) c.synchronised[warp][a][b] = c.event;
  }
}

void shared(const void* address, std::size_t bytes, const char* name) {
  if (bytes != 0) add(address, bytes, name, true, true);
}

void access(const void* address, std::size_t bytes, bool write, bool atomic, const void* pc) {
  // Off meanwhile: what the standard library's templates compile to may be shared with code that reports its accesses.
  checker_switch.on = false;
  look_at(address, bytes, write, atomic, pc);
  checker_switch.on = true;
}

}  // namespace checking
}  // namespace assay::cuda::emulation
