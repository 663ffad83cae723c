#include "private_copy.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "../files/sha256.h"
#include "../run/descriptor.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderVariable = "ASSAY_PRIVATE_LIBRARIES";  // for processes that load
constexpr std::size_t kMostBytes = std::size_t{256} << 20;          // of a library and its helpers
constexpr std::size_t kMostBeside = 4096;                           // entries of its folder
constexpr std::size_t kTag = 3;                                     // characters of a name that are replaced

// What a library says to the loader: texts, and where in the file they are.
class Linked {
 public:
  struct Text {
    std::size_t at;
    std::string text;
  };

  // Nothing if it is no library that this machine loads.
  static std::optional<Linked> read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    Linked l;
    l.content_.assign(std::istreambuf_iterator<char>(file), {});
    if (!file || !l.parse()) return std::nullopt;
    return l;
  }

  const std::string& content() const { return content_; }
  const std::vector<Text>& needed() const { return needed_; }
  const std::optional<Text>& soname() const { return soname_; }
  // RPATH, or RUNPATH.
  const std::string& searched() const { return searched_; }

  // Whether a name can become another one of the same length, and no other text with it.
  bool can_rename(const Text& t) const {
    return t.text.size() > kTag && t.text.find('/') == std::string::npos && t.at > 0 &&
           content_[t.at - 1] == '\0';
  }
  void rename(const Text& t, const std::string& to) { content_.replace(t.at, to.size(), to); }

 private:
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    T t;
    if (offset > content_.size() || sizeof t > content_.size() - offset) return std::nullopt;
    std::memcpy(&t, content_.data() + offset, sizeof t);
    return t;
  }

  bool parse() {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64 ||
        header->e_phentsize != sizeof(Elf64_Phdr))
      return false;
    std::vector<Elf64_Phdr> segments;
    for (int i = 0; i < header->e_phnum; ++i) {
      const auto segment =
          at<Elf64_Phdr>(header->e_phoff + static_cast<std::uint64_t>(i) * sizeof(Elf64_Phdr));
      if (!segment) return false;
      segments.push_back(*segment);
    }
    const auto dynamic =
        std::ranges::find_if(segments, [](const Elf64_Phdr& s) { return s.p_type == PT_DYNAMIC; });
    if (dynamic == segments.end()) return false;
    std::vector<Elf64_Dyn> entries;
    for (std::uint64_t n = 0; n < dynamic->p_filesz / sizeof(Elf64_Dyn); ++n) {
      const auto entry = at<Elf64_Dyn>(dynamic->p_offset + n * sizeof(Elf64_Dyn));
      if (!entry || entry->d_tag == DT_NULL) break;
      entries.push_back(*entry);
    }
    const auto texts = std::ranges::find_if(entries, [](const Elf64_Dyn& e) { return e.d_tag == DT_STRTAB; });
    if (texts == entries.end()) return false;
    const std::uint64_t address = texts->d_un.d_ptr;
    const auto segment = std::ranges::find_if(segments, [&](const Elf64_Phdr& s) {
      return s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz;
    });
    if (segment == segments.end()) return false;
    const std::uint64_t table = segment->p_offset + (address - segment->p_vaddr);
    for (const Elf64_Dyn& e : entries) {
      if (e.d_tag != DT_NEEDED && e.d_tag != DT_SONAME && e.d_tag != DT_RPATH && e.d_tag != DT_RUNPATH)
        continue;
      const std::uint64_t begin = table + e.d_un.d_val;
      const std::size_t end = begin < content_.size() ? content_.find('\0', begin) : std::string::npos;
      if (end == std::string::npos) return false;
      Text t{begin, content_.substr(begin, end - begin)};
      if (e.d_tag == DT_NEEDED)
        needed_.push_back(std::move(t));
      else if (e.d_tag == DT_SONAME)
        soname_ = std::move(t);
      else
        searched_ = std::move(t.text);
    }
    return true;
  }

  std::string content_;
  std::vector<Text> needed_;
  std::optional<Text> soname_;
  std::string searched_;
};

// Folders in which the loader looks for what this library needs, of those that it names itself.
std::vector<fs::path> folders_of(const Linked& l, const fs::path& library) {
  std::vector<fs::path> all;
  std::istringstream list(l.searched());
  for (std::string folder; std::getline(list, folder, ':');) {
    for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"})
      for (std::size_t at = folder.find(origin); at != std::string::npos; at = folder.find(origin, at + 1))
        folder.replace(at, origin.size(), library.parent_path().string());
    if (folder.starts_with('/')) all.emplace_back(folder);
  }
  return all;
}

// In two places at once, `there` is the same for all.
bool is_of_system(const fs::path& folder) {
  std::error_code ignored;
  const fs::path real = fs::weakly_canonical(folder, ignored);
  constexpr std::array<std::string_view, 6> kSystem{
      "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"};
  return std::ranges::find(kSystem, real.string()) != kSystem.end();
}

bool may_execute(const fs::path& file) {
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  void* const mapped = mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, opened.get(), 0);
  if (mapped == MAP_FAILED) return false;
  munmap(mapped, 1);
  return true;
}

void write(const fs::path& file, const std::string& content) {
  std::ofstream out(file, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out)
    throw std::runtime_error(
        fmt::format("cannot write a copy of a library, {}: {}; TMPDIR names another folder", file.string(),
                    std::strerror(errno)));
  if (!may_execute(file))
    throw std::runtime_error(fmt::format(
        "no code may run from {}, where libraries are copied before they are loaded; TMPDIR names another folder",
        file.parent_path().string()));
}

std::string key_of(const std::string& path) { return sha256(path).substr(0, 16); }

class Copies {
 public:
  const std::vector<HelperLibrary>& keep(const std::string& given) {
    const std::lock_guard lock(mutex_);
    const std::string path = fs::absolute(given).string();
    const auto known = helpers_.find(path);
    if (known != helpers_.end()) return known->second;
    std::vector<HelperLibrary>& helpers = helpers_[path];
    std::map<std::string, File> files;  // of this plugin, by real path
    bytes_ = 0;
    if (!read(path, files)) return helpers;
    fs::create_directory(folder() / key_of(path));
    const std::string real = fs::canonical(path).string();
    name_helpers(files, real);
    for (auto& [name, file] : files) {
      for (const auto& [text, helper] : file.renamed)
        if (const File& other = files.at(helper); other.name != other.asked)
          file.linked.rename(text, other.name);
      if (name == real) continue;
      helpers.push_back({file.asked, file.digest});
      if (file.name == file.asked) {
        if (!fs::exists(folder() / file.name)) write(folder() / file.name, file.linked.content());
        continue;
      }
      if (file.linked.soname() && file.linked.can_rename(*file.linked.soname()) &&
          file.linked.soname()->text.size() == file.name.size())
        file.linked.rename(*file.linked.soname(), file.name);
      write(folder() / file.name, file.linked.content());
    }
    std::ranges::sort(helpers, {}, &HelperLibrary::name);
    const fs::path copy = folder() / key_of(path) / fs::path(path).filename();
    write(copy, files.at(real).linked.content());
    link_neighbours(path, copy);
    announce(!helpers.empty());
    return helpers;
  }

 private:
  struct File {
    Linked linked;
    std::string name;   // of the copy
    std::string asked;  // what it is called by those that need it
    std::string digest{};
    std::vector<std::pair<Linked::Text, std::string>> renamed{};  // what it needs, and the real path of that
  };

  const fs::path& folder() {
    if (!folder_) folder_.emplace();
    return folder_->path();
  }

  // The library and all its helpers. False if they are not to be copied.
  bool read(const std::string& path, std::map<std::string, File>& files) {
    std::error_code error;
    const std::string real = fs::canonical(path, error).string();
    if (error) return false;
    const auto size = fs::file_size(real, error);
    if (error || !fs::is_regular_file(real) || (bytes_ += size) > kMostBytes) return false;
    auto linked = Linked::read(real);
    if (!linked) return false;
    File& file =
        files.emplace(real, File{std::move(*linked), fs::path(path).filename().string(), ""}).first->second;
    if (files.size() > 1) file.digest = sha256(file.linked.content());
    for (const Linked::Text& needed : file.linked.needed()) {
      const std::optional<fs::path> found = find(file.linked, path, needed.text);
      if (!found) continue;
      const std::string helper = fs::canonical(*found).string();
      if (!file.linked.can_rename(needed)) return false;
      const auto known = files.find(helper);
      if (known == files.end()) {
        if (!read(found->string(), files)) return false;
        File& added = files.at(helper);
        added.asked = needed.text;
      } else if (known->second.asked != needed.text) {
        return false;  // by two names
      }
      file.renamed.emplace_back(needed, helper);
    }
    return true;
  }

  static std::optional<fs::path> find(const Linked& l, const fs::path& library, const std::string& name) {
    if (name.find('/') != std::string::npos) return std::nullopt;
    std::error_code ignored;
    for (const fs::path& folder : folders_of(l, library))
      if (fs::exists(folder / name, ignored))
        return is_of_system(folder) ? std::nullopt : std::optional(folder / name);
    return std::nullopt;
  }

  // Their own names, but for those of which an earlier library has another build, and those that need such a one: a library that a
  // plugin opens by itself may be linked with the same helper, and must meet the same one.
  void name_helpers(std::map<std::string, File>& files, const std::string& plugin) {
    std::set<std::string> other;
    for (bool more = true; more;) {
      more = false;
      for (const auto& [path, file] : files) {
        if (path == plugin || other.contains(path)) continue;
        const auto taken = digests_.find(file.asked);
        const bool is_taken = taken != digests_.end() && taken->second != file.digest;
        const bool needs_other = std::ranges::any_of(
            file.renamed, [&](const auto& needed) { return other.contains(needed.second); });
        if (is_taken || needs_other) more = other.insert(path).second || more;
      }
    }
    for (auto& [path, file] : files) {
      if (path == plugin) continue;
      file.name = other.contains(path) ? tagged(file.asked) : file.asked;
      if (file.name == file.asked) digests_.emplace(file.asked, file.digest);
    }
  }

  // libhelper.so becomes ~01helper.so, which nobody else has.
  std::string tagged(const std::string& name) {
    constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
    const std::size_t n = tags_++;
    return std::string("~") + kDigits[n / kDigits.size() % kDigits.size()] + kDigits[n % kDigits.size()] +
           name.substr(kTag);
  }

  static void link_neighbours(const fs::path& library, const fs::path& copy) {
    std::error_code ignored;
    std::size_t n = 0;
    for (const auto& entry : fs::directory_iterator(library.parent_path(), ignored)) {
      if (++n > kMostBeside) break;
      fs::create_symlink(entry.path(), copy.parent_path() / entry.path().filename(), ignored);
    }
  }

  void announce(bool with_helpers) {
    setenv(kFolderVariable, folder().c_str(), 1);
    if (!with_helpers || searched_) return;
    searched_ = true;
    const char* const before = std::getenv("LD_LIBRARY_PATH");
    const std::string all =
        before != nullptr && *before != 0 ? folder().string() + ":" + before : folder().string();
    setenv("LD_LIBRARY_PATH", all.c_str(), 1);
  }

  std::mutex mutex_;
  std::optional<TemporaryFolder> folder_;
  std::map<std::string, std::vector<HelperLibrary>> helpers_;
  std::size_t bytes_ = 0;
  std::size_t tags_ = 0;
  std::map<std::string, std::string> digests_;  // of helpers that kept their names
  bool searched_ = false;
};

}  // namespace

const std::vector<HelperLibrary>& keep_private(const std::string& path) {
  static Copies copies;
  return copies.keep(path);
}

std::string private_copy_of(const std::string& path) {
  const char* const folder = std::getenv(kFolderVariable);
  if (folder == nullptr) return path;
  const std::string absolute = fs::absolute(path).string();
  const fs::path copy = fs::path(folder) / key_of(absolute) / fs::path(absolute).filename();
  std::error_code ignored;
  return fs::exists(copy, ignored) ? copy.string() : path;
}

}  // namespace assay
