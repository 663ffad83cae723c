// Files of tensors, byte by byte, and how tests open them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../tensors/tensor_file.h"
#include "reports/file.h"

namespace assay {

// As numpy.save writes it: version 1.0, the data at a multiple of 64 bytes.
inline std::string npy(const std::string& dict, const std::string& data, int version = 1) {
  const std::size_t width = version == 1 ? 2 : 4;
  std::string header = dict;
  while ((8 + width + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string length(width, '\0');
  length[0] = static_cast<char>(header.size() % 256);
  length[1] = static_cast<char>(header.size() / 256);
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} + length + header + data;
}
inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                       bool fortran) {
  return npy("{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                 ", 'shape': " + shape + ", }",
             data);
}

template <class T>
inline std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline FileBytes in_memory(const std::string& bytes, const std::string& name) {
  return {name, std::as_bytes(std::span(bytes)), nullptr};
}
inline std::unique_ptr<TensorFile> open(const std::string& bytes, const std::string& name = "dir/w.npy") {
  const auto kept = std::make_shared<const std::string>(bytes);
  FileBytes file = in_memory(*kept, name);
  file.owner = kept;
  return open_tensors(std::move(file));
}
inline RecordedTensor only_tensor(const std::string& bytes) {
  const auto file = open(bytes);
  EXPECT_EQ(file->entries().size(), 1u);
  const TensorEntry& entry = file->entries().at(0);
  const RecordedTensor t = file->read(entry);
  EXPECT_EQ(entry.size, t.data.size());
  const auto view = file->view(entry);
  EXPECT_TRUE(!view || std::ranges::equal(*view, t.data));
  return t;
}
template <class Work>
inline std::string error_of(const Work& work) {
  try {
    work();
  } catch (const FileError& e) {
    return e.what();
  }
  return "no error";
}
inline std::string opening_error(const std::string& bytes) {
  return error_of([&] { open(bytes); });
}

}  // namespace assay
