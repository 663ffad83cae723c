// Files that gzip compressed, and files to be so: results of runs are kept that way.
//
//   std::string text = read_text("run.json.gz");
//
// Format: RFC 1952; a file may have several members, whose contents follow one another.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// By its first bytes.
bool is_gzip(std::string_view bytes);

// What was compressed. `name` is that of the file, for messages. Throws FileError: for bytes that are cut off, damaged (each member has a
// CRC-32) or followed by others, and where the content is more than 1 GiB.
std::string gunzipped(std::string_view bytes, const std::string& name);

// The same bytes for the same content: no name and no time of day are kept.
std::string gzipped(std::string_view content);

// read_file(), and what was compressed where gzip did that. Throws FileError.
std::string read_text(const std::string& path);

}  // namespace assay
