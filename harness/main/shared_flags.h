// What more than one command takes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../files/case_file.h"

namespace assay {

// PATTERN, --dtype
void add_choice(CLI::App& command, std::vector<std::string>& patterns, std::vector<std::string>& dtypes);
// --cases, --seed, --jobs
struct WorkFlags {
  CLI::Option* cases;
  CLI::Option* seed;
};
WorkFlags add_work(CLI::App& command, std::uint64_t& cases, std::uint64_t& seed, int& jobs);

// A case file to look into. Throws FileError; UsageError for one without calls, of which nothing can be said.
CaseFile read_calls(const std::string& file);

// A contract from the command line, which needs no source; empty stays empty. Throws UsageError that names --contract.
std::string contract_of_flag(const std::string& text);

// A place to write to must be usable before an hour of work depends on it. Throw UsageError that names the flag.
void check_folder(std::string_view flag, const std::filesystem::path& folder);  // creates it
void check_file(std::string_view flag, const std::string& file);                // none, and "-", are well
// Several, each with its flag: no two may go to one place, and none to that of an input.
void check_files(std::initializer_list<std::pair<std::string_view, std::string>> files,
                 const std::vector<std::string>& inputs = {});
// Whether two names are of one place: "x.html", "./x.html", and a link to it.
bool same_place(const std::string& a, const std::string& b);

// Which inputs a place of tensors may mean: "y.npy", "OUT=all.npz:conv1", "self=@raw:f32[2x3]@y.bin", a folder of .npy. What is no
// file costs nothing.
std::vector<std::string> files_of_tensors(const std::string& place);
// The path, or where it is a folder its files with one of these extensions, down to folders at this depth.
std::vector<std::string> files_at(const std::string& path, std::initializer_list<std::string_view> extensions,
                                  int depth = 0);

}  // namespace assay
