// Where the code of a shared library calls functions of another: what tells the blocks of code that gcc has instrumented, which leaves
// no table of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Addresses in the file after each call of one of these functions, in order. A call goes by the library's table of links (PLT) or
// by an address that the loader fills in (-fno-plt). Empty where none is called, and for machines other than x86-64.
// Throws FileError for a file that is no 64-bit ELF.
std::vector<std::uint64_t> calls_in_code(const std::string& path,
                                         std::initializer_list<std::string_view> functions);

}  // namespace assay
