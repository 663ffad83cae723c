#include "mutate.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "../case_file.h"
#include "edit.h"

namespace assay {
namespace {

using hdf5::Handle;
using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) { return static_cast<std::size_t>(random() % limit); }

haddr_t address(hid_t object) {
  H5O_info_t info{};
  hdf5::checked(H5Oget_info2(object, &info, H5O_INFO_BASIC), "an object has no address");
  return info.addr;
}

// Links that lead back to a group on the way are listed and not followed: HDF5 1.10 crashes when it renames what it came
// through.
void collect(hid_t group, const std::string& prefix, std::vector<haddr_t> way,
             std::vector<std::string>& paths) {
  way.push_back(address(group));
  for (const std::string& name : hdf5::children(group)) {
    const std::string path = prefix + name;
    paths.push_back(path);
    if (paths.size() < 500) try {
        if (!hdf5::is_group(group, name)) continue;
        const Handle inner = hdf5::open_group(group, name);
        if (std::find(way.begin(), way.end(), address(inner)) == way.end())
          collect(inner, path + "/", way, paths);
      } catch (const hdf5::Error&) {
      }
  }
}

// What stands in attributes of some kind.
constexpr std::array kTexts{"f32",
                            "bf16",
                            "bool",
                            "assay.case/1",
                            "fuzz_rows",
                            "fuzz_stack:f32:tensors=[[2]]",
                            "fuzz_rows:weight=f32[3x2],indices=i64[4]:data=past_end",
                            "fuzz_rows:weight=f32[3x2]@step2,indices=i64[4]@expanded(0):seed=9",
                            "fixture:torch",
                            "diverged",
                            "bf16,f32: exp=2ulp chain=pairwise(8) -- mine.c:7"};

void write_random_attribute(hid_t object, const std::string& name, Random& random) {
  const std::int64_t number = static_cast<std::int64_t>(random());
  switch (below(random, 6)) {
    case 0:
      hdf5::write_text(object, name, std::string(below(random, 40), static_cast<char>(random())));
      break;
    case 1:
      hdf5::write_texts(object, name, std::vector<std::string>(below(random, 4), "x=y"));
      break;
    case 2:
      hdf5::write_number(object, name, random());
      break;
    case 3:
      hdf5::write_text(object, name, kTexts[below(random, kTexts.size())]);
      break;
    default: {
      const char* text = "variable";
      const bool variable = below(random, 2) == 0;
      const Handle type(H5Tcopy(variable ? H5T_C_S1 : H5T_STD_I64BE), H5Tclose, "type");
      if (variable) H5Tset_size(type, H5T_VARIABLE);
      const Handle space(H5Screate(below(random, 4) == 0 ? H5S_NULL : H5S_SCALAR), H5Sclose, "space");
      const Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose, name);
      const void* value = &number;
      if (variable) value = &text;
      H5Awrite(attribute, type, value);
    }
  }
}

void change_attribute(hid_t root, const std::string& path, Random& random) {
  const Handle object(H5Oopen(root, path.c_str(), H5P_DEFAULT), H5Oclose, path);
  const std::vector<std::string> names = hdf5::attributes(object);
  std::string name = "another";
  if (!names.empty() && below(random, 8) != 0) {
    name = names[below(random, names.size())];
    H5Adelete(object, name.c_str());
  }
  if (below(random, 3) != 0) write_random_attribute(object, name, random);
}

void write_random_dataset(hid_t root, const std::string& path, Random& random) {
  const auto dtype = static_cast<Dtype>(below(random, kDtypes));
  Shape shape(below(random, 4));
  std::size_t size = static_cast<std::size_t>(bytes(dtype));
  for (std::int64_t& extent : shape) {
    extent = static_cast<std::int64_t>(below(random, 4));
    size *= static_cast<std::size_t>(extent);
  }
  hdf5::write_dataset(root, path, dtype, shape,
                      std::vector<std::byte>(size, static_cast<std::byte>(random())), below(random, 2) == 0);
}

// The dataset with other data, or another shape or dtype, all else in order.
void change_dataset(hid_t root, const std::string& path, Random& random) {
  hdf5::Array array = hdf5::read_dataset(root, path);
  const std::size_t what = below(random, 3);
  if (what == 0) {
    for (std::byte& b : array.data)
      if (below(random, 4) == 0) b = static_cast<std::byte>(below(random, 2) == 0 ? 0 : random());
  } else if (what == 1) {
    array.dtype = static_cast<Dtype>(below(random, kDtypes));
  } else if (array.shape.empty() || below(random, 3) == 0) {
    array.shape.insert(array.shape.begin(), static_cast<std::int64_t>(below(random, 3)));
  } else {
    array.shape[below(random, array.shape.size())] = static_cast<std::int64_t>(below(random, 5));
  }
  std::size_t size = static_cast<std::size_t>(bytes(array.dtype));
  for (const std::int64_t extent : array.shape) size *= static_cast<std::size_t>(extent);
  array.data.resize(size);
  const bool labelled = below(random, 4) != 0;
  H5Ldelete(root, path.c_str(), H5P_DEFAULT);
  hdf5::write_dataset(root, path, array.dtype, array.shape, array.data, labelled);
}

// Chunks or space that were never written, of a size that may be absurd.
void write_empty_claim(hid_t root, const std::string& path, Random& random) {
  const std::vector<hsize_t> sizes(1 + below(random, 3), hsize_t{1} << below(random, 40));
  const std::vector<hsize_t> chunk(sizes.size(), 1);
  const Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose,
                     "space");
  const Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "plan");
  if (below(random, 2) == 0) H5Pset_chunk(plan, static_cast<int>(chunk.size()), chunk.data());
  const Handle dataset(H5Dcreate2(root, path.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, plan, H5P_DEFAULT),
                       H5Dclose, path);
}

void replace_object(hid_t root, const std::string& path, const std::vector<std::string>& paths,
                    Random& random) {
  H5Ldelete(root, path.c_str(), H5P_DEFAULT);
  const std::string& other = paths[below(random, paths.size())];
  switch (below(random, 8)) {
    case 0:
      break;  // it is gone
    case 1:
    case 2:
      write_random_dataset(root, path, random);
      break;
    case 3:
      hdf5::create_group(root, path);
      break;
    case 4:
      write_empty_claim(root, path, random);
      break;
    case 5:
      H5Lcreate_soft(("/" + other).c_str(), root, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    case 6:
      H5Lcreate_external("/dev/null", "/", root, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    default:
      H5Lcreate_hard(root, other.c_str(), root, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
  }
}

void change_something(hid_t root, Random& random) try {
  std::vector<std::string> paths;
  collect(root, "", {}, paths);
  if (paths.empty()) return;
  const std::string& path = paths[below(random, paths.size())];
  switch (below(random, 5)) {
    case 0:
      replace_object(root, path, paths, random);
      break;
    case 1: {
      const std::string& other = paths[below(random, paths.size())];
      const std::string beside = other.substr(0, other.rfind('/') + 1) + "other";
      H5Lmove(root, path.c_str(), root, beside.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    }
    case 2:
      change_dataset(root, path, random);
      break;
    default:
      change_attribute(root, below(random, 10) == 0 ? "." : path, random);
  }
} catch (const hdf5::Error&) {
  // Not every change is possible everywhere.
}

}  // namespace

std::string mutate_bytes(std::string bytes, Random& random) {
  for (std::size_t n = 1 + below(random, 8); n > 0 && !bytes.empty(); --n) {
    // The superblock, in front, decides most.
    const std::size_t at =
        below(random, below(random, 3) == 0 ? std::min<std::size_t>(bytes.size(), 64) : bytes.size());
    switch (below(random, 6)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes[at] = '\xFF';
        break;
      case 3:
        bytes[at] = '\0';
        break;
      case 4: {
        const std::size_t from = below(random, bytes.size());
        const std::size_t length = std::min({below(random, 64), bytes.size() - at, bytes.size() - from});
        std::memmove(bytes.data() + at, bytes.data() + from, length);
        break;
      }
      default:
        if (below(random, 8) == 0) bytes.resize(at);
    }
  }
  return bytes;
}

std::string mutate_objects(const std::string& bytes, Random& random) try {
  // Written anew: HDF5 1.10 crashes when it copies some of what mutations leave behind.
  const std::string whole =
      encode_case_file(decode_case_file(std::as_bytes(std::span(bytes)), "input"), "input");
  return hdf5::edited(whole, [&](hid_t root) {
    for (std::size_t n = 1 + below(random, 4); n > 0; --n) change_something(root, random);
  });
} catch (const std::runtime_error&) {
  return bytes;
}

}  // namespace assay
