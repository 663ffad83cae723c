// Tables of plugins: read_plugin_table() throws PluginError that names the library, or gives kernels that can be
// described to the harness, one for one. The input says what stands in the table; addresses it names are those of real
// memory or NULL, because no reader survives others.
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "../plugin/load.h"
#include "../run/describe.h"
#include "target.h"

namespace assay::fuzz {
namespace {

// Takes numbers from the front of the input; zeros after its end.
class Bytes {
 public:
  explicit Bytes(std::string_view input) : input_(input) {}
  bool done() const { return input_.empty(); }
  std::uint8_t next() {
    if (input_.empty()) return 0;
    const char c = input_.front();
    input_.remove_prefix(1);
    return static_cast<std::uint8_t>(c);
  }
  // NULL, or a text of the length that comes first.
  std::unique_ptr<std::string> text() {
    const std::uint8_t length = next();
    if (length == 255) return nullptr;
    auto s = std::make_unique<std::string>(input_.substr(0, length));
    input_.remove_prefix(std::min<std::size_t>(length, input_.size()));
    return s;
  }

 private:
  std::string_view input_;
};

constexpr std::size_t kEntryRoom = sizeof(assay_kernel) + 64;  // an entry of a later version
constexpr std::array<std::uint32_t, 6> kEntrySizes{
    sizeof(assay_kernel), kEntryRoom, sizeof(assay_kernel) - 8, 0, 16, 0xFFFFFFF8u};

int run_nothing(const assay_call*) { return ASSAY_OK; }
const char* lacks_everything() { return "needs another machine"; }

// The table that an input stands for, and the memory it points to.
struct Table {
  std::vector<std::unique_ptr<std::string>> texts;
  std::vector<std::array<char, kEntryRoom>> room;
  std::vector<char> entries;
  assay_plugin plugin{};

  explicit Table(Bytes b) {
    const std::uint8_t version = b.next(), size = b.next(), count = b.next();
    plugin.abi_version = version == 0 ? ASSAY_ABI_VERSION : version;
    plugin.kernel_size = kEntrySizes[size % kEntrySizes.size()];
    plugin.name = pointer(b);
    plugin.version = pointer(b);
    const std::uint8_t many = b.next();
    while (!b.done() && room.size() < 32) add(b);
    // Entries lie as far apart as the table says, if it is a distance.
    const std::size_t step = plugin.kernel_size > kEntryRoom ? kEntryRoom : plugin.kernel_size;
    entries.assign(room.size() * step + kEntryRoom, 0);
    for (std::size_t i = 0; i < room.size(); ++i)
      std::memcpy(entries.data() + i * step, room[i].data(), step);
    plugin.kernel_count = room.size();
    if (count == 1) plugin.kernel_count = 0;
    if (count == 2) plugin.kernel_count = ~std::uint64_t{0} >> (many % 40);
    plugin.kernels = count == 3 ? nullptr : reinterpret_cast<const assay_kernel*>(entries.data());
  }

  const char* pointer(Bytes& b) {
    texts.push_back(b.text());
    return texts.back() == nullptr ? nullptr : texts.back()->c_str();
  }
  void add(Bytes& b) {
    assay_kernel k{};
    const std::uint8_t what = b.next();
    k.size = (what & 1) != 0 ? kEntrySizes[b.next() % kEntrySizes.size()] : sizeof(k);
    k.run = (what & 2) != 0 ? nullptr : run_nothing;
    k.unavailable = (what & 4) != 0 ? lacks_everything : nullptr;
    k.flags = b.next();
    for (const char** text : {&k.schema, &k.name, &k.contract, &k.source, &k.environment}) *text = pointer(b);
    std::memcpy(room.emplace_back().data(), &k, sizeof(k));
  }
};

// A table of `n` kernels, in the bytes that Table reads.
std::string table(char size, char count, int n) {
  const auto text = [](std::string_view s) { return static_cast<char>(s.size()) + std::string(s); };
  std::string s{'\0', size, count};
  s += text("mine") + "\xFF" + '\x03';
  for (int i = 0; i < n; ++i) {
    s += '\x04';
    s += '\x01';
    s += text("relu(Tensor self) -> Tensor") + text("cpu." + std::to_string(i)) + "\xFF" + text("mine.c:7") +
         text("A=1 B=2");
  }
  return s;
}

std::vector<std::string> seeds() {
  return {table(0, 0, 1), table(0, 0, 3), table(1, 0, 2), table(2, 0, 1), table(0, 1, 1),
          table(0, 2, 1), table(5, 0, 2), table(0, 3, 1), table(3, 2, 0)};
}

bool run(std::string_view input) {
  const Table given{Bytes(input)};
  WorkerTable read;
  try {
    read = read_plugin_table(&given.plugin, "libfuzz.so");
  } catch (const PluginError& e) {
    if (std::string_view(e.what()).find("libfuzz.so: ") != 0)
      broken("an error that does not name the library");
    return false;
  }
  if (read.kernels.size() != given.plugin.kernel_count || read.kernels.size() > given.room.size())
    broken("not one kernel for each entry");
  const std::vector<DescribedKernel> described = parse_description(description(read));
  if (described.size() != read.kernels.size()) broken("not one description for each kernel");
  for (std::size_t i = 0; i < described.size(); ++i)
    if (described[i].flags != read.kernels[i].flags) broken("another kernel is described");
  return true;
}

}  // namespace

const Target kPluginTable{"plugin_table", seeds, run};

}  // namespace assay::fuzz
