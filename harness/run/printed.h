// What kernels print is nobody's but theirs: it is shown on standard error, marked with their names, and not for ever.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Of one name, or several of whom one printed it, so much is shown while the program runs.
inline constexpr std::size_t kMostPrinted = 2000;  // bytes

// The text as lines "[plugin:mine] ..", without what could steer a terminal. Thread-safe.
void show_printed(const std::vector<std::string>& names, std::string_view text);

// The same, for tests: what would be shown of it, if so much had been shown of these before, which it adds to.
std::string marked(const std::vector<std::string>& names, std::string_view text, std::size_t& shown);

}  // namespace assay
