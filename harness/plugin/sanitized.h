// Plugins that were compiled with -fsanitize=thread: they need the sanitizer's runtime in their process before anything else.
#pragma once

#include <string>
#include <vector>

namespace assay {

// Whether the library calls ThreadSanitizer. False for a file that is no library.
bool is_thread_sanitized(const std::string& library);

// NAME=VALUE of the process that is to load it: the runtime is loaded first, and a report ends the process with kSanitizerStatus. Throws
// std::runtime_error where there is no runtime, and for a library that is linked with GCC's OpenMP, whose locks the sanitizer does not see.
std::vector<std::string> thread_sanitizer_variables(const std::string& library);

// Whether it is one of these.
bool is_of_thread_sanitizer(const std::string& variable);

// Which of the options of a TSAN_OPTIONS=... is not to be had, because reports are read as thread_sanitizer_variables() asks for them;
// empty: none, or it is another variable.
std::string refused_option(const std::string& variable);

// Adds to one of `variables`, if that is of the sanitizer and of the same name, what somebody asks for besides. False: it is none.
bool add_to_thread_sanitizer(std::vector<std::string>& variables, const std::string& variable);
// Of one of these, what somebody asked for besides and the environment does not: "TSAN_OPTIONS=suppressions=F", or empty.
std::string asked_of_thread_sanitizer(const std::string& variable);

}  // namespace assay
