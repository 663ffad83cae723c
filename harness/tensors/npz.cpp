#include "npz.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <set>

#include "layout.h"
#include "npy.h"

namespace assay::tensors {
namespace {

constexpr std::string_view kExtension = ".npy";
constexpr std::uint64_t kFrame = 64;  // of a compressed member

struct CloseArchive {
  void operator()(zip_t* archive) const { ::zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { ::zip_fclose(entry); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

std::string message(zip_error_t* error) {
  std::string text = ::zip_error_strerror(error);
  ::zip_error_fini(error);
  return text;
}

Archive open_archive(const FileBytes& file) {
  const Place whole{file.name, ""};
  zip_error_t error;
  ::zip_error_init(&error);
  zip_source_t* source = ::zip_source_buffer_create(file.bytes.data(), file.bytes.size(), 0, &error);
  if (source == nullptr) whole.fail(fmt::format("it cannot be read as a zip archive: {}", message(&error)));
  zip_t* archive = ::zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    ::zip_source_free(source);
    whole.fail(fmt::format("it is cut short, or a damaged zip archive: {}", message(&error)));
  }
  return Archive(archive);
}

// One entry, read from its beginning.
class EntryReader {
 public:
  EntryReader(zip_t* archive, std::uint64_t index, const Place& place)
      : entry_(::zip_fopen_index(archive, index, 0)), place_(place) {
    if (entry_ == nullptr)
      place_.fail(fmt::format("it is damaged (zip: {})", ::zip_error_strerror(::zip_get_error(archive))));
  }
  // As many bytes as there are, up to those of `to`. After the last, the checksum has been compared.
  std::size_t read(std::span<std::byte> to) {
    std::size_t total = 0;
    while (total < to.size()) {
      const zip_int64_t got = ::zip_fread(entry_.get(), to.data() + total, to.size() - total);
      if (got < 0)
        place_.fail(fmt::format("its data is damaged (zip: {})",
                                ::zip_error_strerror(::zip_file_get_error(entry_.get()))));
      if (got == 0) break;
      total += static_cast<std::size_t>(got);
    }
    return total;
  }

 private:
  std::unique_ptr<zip_file_t, CloseEntry> entry_;
  const Place& place_;
};

class Npz : public TensorFile {
 public:
  explicit Npz(FileBytes file)
      : TensorFile(file.name), file_(std::move(file)), archive_(open_archive(file_)) {
    const zip_int64_t count = ::zip_get_num_entries(archive_.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) add_entry(static_cast<std::uint64_t>(i));
  }

  RecordedTensor read(const TensorEntry& entry) const override {
    const Place place{path(), entry.name};
    return with_memory(place, entry.size, [&] { return unpacked(entry, place); });
  }

 private:
  struct Stored {
    std::uint64_t zip_index;
    NpyHeader header;
  };

  RecordedTensor unpacked(const TensorEntry& entry, const Place& place) const {
    const Stored& stored = stored_.at(entry.index);
    EntryReader reader(archive_.get(), stored.zip_index, place);
    std::vector<std::byte> data(stored.header.begin);
    const bool all_of_header = reader.read(data) == data.size();
    data.resize(stored.header.size);
    if (!all_of_header || reader.read(data) != data.size())
      place.fail(fmt::format("its data is cut short: {} bytes are needed", stored.header.size));
    std::byte behind;
    if (reader.read({&behind, 1}) != 0) place.fail("its data goes on beyond the size that the archive says");
    if (!is_plain(stored.header.layout, entry.dtype, entry.shape))
      return unpack(data, entry.dtype, entry.shape, stored.header.layout);
    return {entry.dtype, entry.shape, std::move(data)};
  }

  void add_entry(std::uint64_t index) {
    zip_stat_t stat;
    ::zip_stat_init(&stat);
    if (::zip_stat_index(archive_.get(), index, 0, &stat) != 0 || stat.name == nullptr)
      Place{path(), ""}.fail(fmt::format("entry {} of the zip archive is damaged", index));
    std::string name = stat.name;
    if (name.ends_with('/')) return;  // a folder
    const bool is_npy = name.ends_with(kExtension);
    if (is_npy) name.resize(name.size() - kExtension.size());
    const Place place{path(), name};
    if (!names_.insert(name).second) place.fail("the zip archive has two entries of this name");
    try {
      if (!is_npy) place.unsupported("this entry of the zip archive is no .npy");
      Stored stored{index, header_of(index, stat, place)};
      add(name, stored.header.dtype, stored.header.shape, stored.header.size);
      stored_.push_back(std::move(stored));
    } catch (const Unsupported& e) {
      unsupported_.push_back({name, e.what()});
    }
  }

  NpyHeader header_of(std::uint64_t index, const zip_stat_t& stat, const Place& place) const {
    constexpr auto kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((stat.valid & kNeeded) != kNeeded) place.fail("the zip archive does not say how large it is");
    if ((stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE)
      place.unsupported("it is encrypted; unpack the archive and give the folder");
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
      place.unsupported(
          fmt::format("compression method is {}; 0 (stored) and 8 (deflated) are read", stat.comp_method));
    if (stat.comp_size > file_.bytes.size())
      place.fail(fmt::format("compressed size is {}, and the file has {} bytes", stat.comp_size,
                             file_.bytes.size()));
    const std::uint64_t most =
        stat.comp_method == ZIP_CM_STORE ? stat.comp_size : stat.comp_size * kMostExpansion + kFrame;
    if (stat.size > most)
      place.fail(
          fmt::format("size is {}, which cannot come of {} compressed bytes", stat.size, stat.comp_size));
    return read_header(index, static_cast<std::size_t>(stat.size), place);
  }

  NpyHeader read_header(std::uint64_t index, std::size_t size, const Place& place) const {
    EntryReader reader(archive_.get(), index, place);
    std::vector<std::byte> first(std::min(size, kNpyPrefix));
    std::size_t got = reader.read(first);
    first.resize(got == first.size() ? std::min(size, npy_header_bytes(first)) : got);
    if (got < first.size()) got += reader.read(std::span(first).subspan(got));
    if (got < first.size() || got < std::min(size, kNpyPrefix))
      place.fail(fmt::format("its data is cut short: size is {}, and there are {} bytes", size, got));
    return read_npy_header(first, size, place);
  }

  FileBytes file_;
  Archive archive_;
  std::set<std::string> names_;
  std::vector<Stored> stored_;
};

}  // namespace

bool looks_like_zip(const FileBytes& file) {
  return file.text().starts_with("PK\x03\x04") || file.text().starts_with("PK\x05\x06");
}

std::unique_ptr<TensorFile> open_npz(FileBytes file) { return std::make_unique<Npz>(std::move(file)); }

}  // namespace assay::tensors
