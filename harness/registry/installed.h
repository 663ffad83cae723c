// Where the files are that the program needs besides itself: libraries, scripts for Python, cases to time.
//
//   data_file("harness/python/record.py")
//
// In a build folder, libraries are in optimized/, and everything else is in the source tree. An installed program is PREFIX/bin/assay, with
//
//   PREFIX/lib/assay/libassay_cpu_plugin.so
//   PREFIX/share/assay/harness/python/record.py    by its path in the source tree
//
// Files of an installation are found from the program's own place, so that it can be moved, as a wheel is. ci/cmake/AssayInstall.cmake
// puts them there.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Whether this program is part of an installation.
bool is_installed(const std::string& program);

// A library that belongs to this program, whether it is there or not.
std::string library_file(const std::string& program, std::string_view name);

// A file or a folder of the source tree, as this program reads it.
std::string data_file(const std::string& program, std::string_view path);

// The same for the program that runs.
std::string data_file(std::string_view path);

}  // namespace assay
