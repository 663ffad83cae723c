// Copies of somebody's libraries, as they are when a run begins: one that is built again meanwhile changes nothing, and two builds
// of a library have each their own helpers.
//
// A helper is a library that the plugin is linked with and that the loader finds by the plugin's own RPATH or RUNPATH. The loader
// takes one that has the name of another for that other one: where a later library has another build of a helper, its copy therefore
// has a name of its own, of the same length, and the copies that need it say that name. Beside the copy of a plugin stand links to what stands beside the plugin itself.
#pragma once

#include <string>
#include <vector>

namespace assay {

struct HelperLibrary {
  std::string name;    // as those say that need it
  std::string digest;  // of its content
};

// Copies a library and its helpers, unless that is done; from then on processes that this one starts load the copy. Returns the
// helpers, by name; none where they are too large to be copied, or have names that cannot be changed: then nothing is copied. A file
// that is no library is left to the loader's complaint. Throws std::runtime_error where there is no room for the copies.
const std::vector<HelperLibrary>& keep_private(const std::string& path);

// Where this process, or the one that started it, has its copy of a library; `path` itself if there is none.
std::string private_copy_of(const std::string& path);

}  // namespace assay
