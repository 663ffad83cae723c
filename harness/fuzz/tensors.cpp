#include "tensors.h"

#include <algorithm>
#include <set>

#include "target.h"

namespace assay::fuzz {
namespace {

constexpr std::string_view kFile = "fuzz input";

void require_name(std::string_view message) {
  if (message.find(kFile) == std::string_view::npos) broken("an error that does not name the file");
}

void check(const TensorFile& file, const TensorEntry& entry) {
  const RecordedTensor t = file.read(entry);
  double size = bytes(t.dtype);
  for (const std::int64_t n : t.shape) size *= static_cast<double>(n);
  if (t.dtype != entry.dtype || t.shape != entry.shape) broken("another tensor was read than was listed");
  if (size != static_cast<double>(t.data.size()) || t.data.size() != entry.size)
    broken("a tensor has data of another size than its shape");
  if (const auto view = file.view(entry); view && !std::ranges::equal(*view, t.data))
    broken("what is mapped is not what is read");
}

}  // namespace

bool read_all_tensors(std::unique_ptr<TensorFile> (*open)(FileBytes), std::string_view input) try {
  const std::unique_ptr<TensorFile> file =
      open({std::string(kFile), std::as_bytes(std::span(input)), nullptr});
  std::set<std::string> names;
  for (const TensorEntry& entry : file->entries()) {
    if (!names.insert(entry.name).second) broken("two tensors of one name");
    check(*file, entry);
  }
  for (const UnsupportedEntry& entry : file->unsupported()) require_name(entry.reason);
  return !file->entries().empty();
} catch (const FileError& e) {
  require_name(e.what());
  return false;
}

}  // namespace assay::fuzz
