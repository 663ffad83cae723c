// Loads somebody's shared library of kernels. Only worker processes do that: a library may crash while it is loaded.
#pragma once

#include <stdexcept>
#include <string>

#include "../run/lane.h"

namespace assay {

// The library cannot be used; the message names it, says what is wrong with it and what to do.
struct PluginError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The kernels of the library, which stays loaded. Its symbols are its own (RTLD_LOCAL). Throws PluginError.
WorkerTable load_plugin_table(const std::string& path);

// The second half of it: the kernels of a table that a library has given. `library` stands for it in messages.
WorkerTable read_plugin_table(const assay_plugin* plugin, const std::string& library);

}  // namespace assay
