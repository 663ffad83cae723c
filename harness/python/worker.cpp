// libassay_worker.so: a worker process for kernels that are functions of Python. The interpreter loads it with ctypes (assay/_worker.py).
#include <fmt/format.h>
#include <exception>
#include <string>

#include "../plugin/load.h"
#include "../run/lane.h"

// `load` gives the table, or NULL after it has written why into `error`, of `capacity` bytes. `after_fork` is called in each process that
// runs kernels. Both are called on the calling thread, and take the interpreter's lock for themselves. Returns never: the process ends.
extern "C" __attribute__((visibility("default"))) int assay_python_worker(
    int argc, char** argv, const assay_plugin* (*load)(char* error, std::size_t capacity),
    void (*after_fork)()) {
  return assay::worker_main(argc, argv, [&](std::span<const std::string> arguments) {
    std::string why(4096, '\0');
    const assay_plugin* const plugin = load(why.data(), why.size());
    if (plugin == nullptr) throw assay::PluginError(why.c_str());
    assay::WorkerTable table =
        assay::read_plugin_table(plugin, arguments.empty() ? "a program of Python" : arguments.back());
    table.after_fork = after_fork;
    return table;
  });
}
