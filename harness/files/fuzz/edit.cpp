#include "edit.h"

namespace assay::hdf5 {
namespace {

void copy_attributes(hid_t from, hid_t to) {
  for (const std::string& name : attributes(from)) {
    const std::vector<std::string> values = read_texts(from, name);
    if (is_text(from, name))
      write_text(to, name, values.front());
    else
      write_texts(to, name, values);
  }
}

}  // namespace

std::string edited(const std::string& bytes, const std::function<void(hid_t root)>& edit) {
  const Session session;
  const Handle from = open_image(std::as_bytes(std::span(bytes)));
  return build_file([&](hid_t root) {
    copy_attributes(from, root);
    for (const std::string& name : children(from))
      checked(H5Ocopy(from, name.c_str(), root, name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
              name + " cannot be copied");
    edit(root);
  });
}

}  // namespace assay::hdf5
