#include "registry.h"

#include <fmt/format.h>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "../plugin/private_copy.h"
#include "../plugin/sanitized.h"
#include "../run/describe.h"
#include "../run/forked.h"
#include "../run/printed.h"
#include "configured.h"
#include "graph/enrol_graph.h"
#include "kept_list.h"
#include "parts.h"
#include "source_plugin.h"
#include "subprocess.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

// Schema texts are equal up to spaces, the namespace and the kind of quotes.
std::string normalised(std::string_view schema) {
  std::string s;
  if (schema.starts_with("aten::")) schema.remove_prefix(6);
  for (const char c : schema)
    if (c != ' ') s += c == '\'' ? '"' : c;
  return s;
}

std::string_view operator_name(std::string_view schema) {
  if (schema.starts_with("aten::")) schema.remove_prefix(6);
  const std::string_view name = schema.substr(0, schema.find('('));
  const std::size_t space = name.find("::");  // assay::
  return space == std::string_view::npos ? name : name.substr(space + 2);
}

std::vector<std::string> words(const char* text) {
  std::vector<std::string> all;
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::size_t end = rest.find(' ');
    if (end != 0) all.emplace_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  return all;
}

std::string_view or_empty(const char* text) { return text == nullptr ? "" : text; }

constexpr std::chrono::seconds kListTime{120};  // PyTorch from a cold disk beside a build, and more

// Wider vectors first; what is not ours after.
int rank(const Kernel& k) {
  constexpr std::array<std::string_view, 7> ours{"cpu.amx",  "cpu.avx512", "cpu.avx2",     "cpu.baseline",
                                                 "cuda.gpu", "cuda.ptx",   "cuda.emulated"};
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (k.name.starts_with(ours[i])) return static_cast<int>(i);
  return k.peer ? 100 : 50;
}

// A plugin's library; its kernels need not say their source.
const std::string& where_from(const Kernel& k) {
  const std::vector<std::string>& arguments = k.environment.arguments;
  return arguments.size() == 2 && arguments[0] == "--plugin" ? arguments[1] : k.source;
}

const Operator& operator_of(std::string_view schema, std::string_view kernel) {
  if (is_graph(schema)) {
    try {
      return enrol_graph(schema);
    } catch (const GraphError& e) {
      throw RegistryError(fmt::format("kernel {}: {}", kernel, e.what()));
    }
  }
  const Operator* op = find_operator(operator_name(schema));
  if (op == nullptr)
    throw RegistryError(fmt::format("kernel {} is for operator \"{}\", which Assay does not have{}", kernel,
                                    operator_name(schema), nearest_operator_hint(operator_name(schema))));
  if (normalised(op->schema.text) != normalised(schema))
    throw RegistryError(fmt::format("kernel {} states the schema\n  {}\nbut Assay's is\n  {}", kernel, schema,
                                    op->schema.text));
  return *op;
}

void check_contract(const Kernel& k) {
  for (int d = 0; d < kDtypes; ++d) {
    try {
      parse_contract(k.contract, static_cast<Dtype>(d));
    } catch (const std::invalid_argument& e) {
      throw RegistryError(fmt::format("kernel {} for {}: {}", k.name, k.op->schema.name, e.what()));
    }
  }
}

}  // namespace

Registry::Registry(std::string program) : program_(std::move(program)) {
  for (const EnrolledKernel& e : enrolled_kernels()) {
    Kernel k;
    k.op = &operator_of(e.kernel.schema, or_empty(e.kernel.name));
    k.schema = e.kernel.schema;
    k.name = k.table_name = or_empty(e.kernel.name);
    k.contract = or_empty(e.kernel.contract);
    k.source = e.kernel.source != nullptr ? e.kernel.source : std::string(e.file);
    if (e.kernel.unavailable != nullptr) k.unavailable = or_empty(e.kernel.unavailable());
    k.peer = (e.kernel.flags & ASSAY_PEER) != 0;
    k.on_device = (e.kernel.flags & ASSAY_ON_DEVICE) != 0;
    k.checks_arguments = (e.kernel.flags & ASSAY_CHECKS_ARGUMENTS) != 0;
    k.environment = {program_, {}, words(e.kernel.environment)};
    insert(std::move(k));
  }
  add_parts();
}

void Registry::add_parts() {
  for (const Part& part : parts()) {
    if (!is_built(program_, part)) continue;
    const std::string library = kernel_library(program_, part.library);
    try {
      add({program_, {"--plugin", library}, {}}, "");
    } catch (const RegistryError& e) {
      throw RegistryError(
          fmt::format("{}; {} is perhaps of another build: `./assay build {}` builds it again, and without "
                      "the file its kernels are left out",
                      e.what(), library, part.name));
    }
  }
}

void Registry::insert(Kernel k) {
  for (const Kernel& known : kernels_)
    if (known.op == k.op && known.name == k.name)
      throw RegistryError(fmt::format("there are two kernels \"{}\" for {}: {} and {}", k.name,
                                      k.op->schema.name, where_from(known), where_from(k)));
  check_contract(k);
  kernels_.push_back(std::move(k));
}

void Registry::judge_by(std::string_view contract) {
  for (Kernel& k : kernels_) {
    k.contract = overridden(k.contract, contract);
    check_contract(k);
  }
}

void Registry::set_variables(std::span<const std::string> variables) {
  for (Kernel& k : kernels_)
    for (const std::string& v : variables)
      if (!add_to_thread_sanitizer(k.environment.variables, v)) set_variable(k.environment, v, false);
}

namespace {

// With which a list of kernels begins.
constexpr std::string_view kDescriptionBegins = "{\n \"format\"";

// The same of a program that forks itself.
Finished forked_description(const Environment& environment) {
  try {
    const ForkedProcess forked = fork_process(environment, "--list");
    Finished said;
    std::vector<char> packet(1 << 20);
    for (ssize_t n = 0; (n = recv(forked.socket.get(), packet.data(), packet.size(), 0)) != 0;)
      if (n > 0)
        said.out.append(packet.data(), static_cast<std::size_t>(n));
      else if (errno != EINTR)
        break;
    // What was printed before stands before it, and a complaint in its place.
    const std::size_t begins = said.out.find(kDescriptionBegins);
    if (begins == std::string::npos) {
      while (said.out.ends_with('\n')) said.out.pop_back();
      throw RegistryError(said.out.empty() ? "the process that lists the kernels printed nothing" : said.out);
    }
    said.out.erase(0, begins);
    return said;
  } catch (const std::runtime_error& e) {
    throw RegistryError(e.what());
  }
}

// What the program says of its kernels. Throws RegistryError.
Finished description_of(const Environment& environment) {
  if (is_forked(environment)) return forked_description(environment);
  std::vector<std::string> arguments = environment.before;
  arguments.insert(arguments.end(), {"worker", "--list"});
  arguments.insert(arguments.end(), environment.arguments.begin(), environment.arguments.end());
  const Finished listed = run_program(environment.program, arguments, environment.variables, kListTime);
  if (!listed.started)
    throw RegistryError(fmt::format("cannot start {}: {}", environment.program, listed.err));
  if (listed.late)
    throw RegistryError(
        fmt::format("{} did not list its kernels within {} s", environment.program, kListTime.count()));
  if (listed.status != 0) {
    std::string said = listed.err;
    while (said.ends_with('\n')) said.pop_back();
    if (listed.status > 128)
      said += fmt::format("{}the process died of signal {}", said.empty() ? "" : "; ", listed.status - 128);
    if (said.empty()) said = fmt::format("exit status {}", listed.status);
    throw RegistryError(said);
  }
  return listed;
}

}  // namespace

void Registry::add(const Environment& environment, const std::string& prefix) {
  const Finished listed = description_of(environment);
  if (!prefix.empty())
    show_printed({std::filesystem::path(environment.arguments.back()).filename()}, listed.err);
  add(environment, prefix, listed.out);
}

void Registry::add(const Environment& environment, const std::string& prefix, std::string_view description) {
  for (DescribedKernel& d : parse_description(std::string(description))) {
    Kernel k;
    k.table_name = d.name;
    k.name = prefix + d.name;
    k.op = &operator_of(d.schema, k.name);
    k.schema = d.schema;
    k.contract = d.contract;
    k.source = d.source;
    k.unavailable = d.unavailable;
    k.peer = (d.flags & ASSAY_PEER) != 0;
    k.on_device = (d.flags & ASSAY_ON_DEVICE) != 0;
    k.checks_arguments = (d.flags & ASSAY_CHECKS_ARGUMENTS) != 0;
    k.environment = environment;
    const std::vector<std::string> more = words(d.environment.c_str());
    k.environment.variables.insert(k.environment.variables.end(), more.begin(), more.end());
    insert(std::move(k));
  }
}

namespace {

// The one that the text names, or the one that the command is about; none where the file says it.
const Operator* meant_operator(const PythonKernel& kernel, std::span<const Operator* const> about) {
  if (kernel.op.empty()) return about.size() == 1 ? about[0] : nullptr;
  if (const Operator* op = find_spelled(kernel.op)) return op;
  throw RegistryError(
      fmt::format("there is no operator \"{}\"{}", kernel.op, nearest_operator_hint(kernel.op)));
}

}  // namespace

void Registry::add_python(PythonKernel kernel, std::span<const Operator* const> about) {
  const Operator* const op = meant_operator(kernel, about);
  if (op != nullptr) kernel.op = op->schema.name;
  Environment environment;
  try {
    environment = python_environment(kernel, op == nullptr ? operators() : std::span(&op, 1), program_);
  } catch (const std::runtime_error& e) {
    throw RegistryError(e.what());
  }
  add(environment, std::string(kPluginPrefix));
}

void Registry::add_plugin(const std::string& library, std::span<const Operator* const> about) {
  if (const std::optional<PythonKernel> kernel = python_kernel(library)) return add_python(*kernel, about);
  std::error_code ignored;
  const auto path = std::filesystem::absolute(library, ignored);
  Environment environment{program_, {"--plugin", path.string()}, {}};
  try {
    if (is_source(library)) {
      const std::string built = compiled(library, program_);
      environment.arguments = {"--plugin", built, "--source", path.string()};
    }
    const std::string& loaded = environment.arguments[1];
    keep_private(loaded);
    if (is_thread_sanitized(loaded)) environment.variables = thread_sanitizer_variables(loaded);
  } catch (const std::runtime_error& e) {
    throw RegistryError(e.what());
  }
  add(environment, std::string(kPluginPrefix));
}

void Registry::add_torch() {
  const Environment environment{
      std::filesystem::path(program_).replace_filename("assay-torch").string(), {}, {}};
  std::string missing;
  if (!std::filesystem::exists(environment.program)) {
    missing = configured::lacks_torch;
    if (missing.empty())
      missing =
          "this build has no PyTorch oracle, assay-torch: build the target `programs`, not `assay` alone; it takes python3-dev, "
          "pybind11-dev and python3-torch";
  } else {
    const KeptList kept(environment.program);
    try {
      if (const std::optional<std::string> known = kept.read()) {
        add(environment, "", *known);
      } else {
        const std::string description = description_of(environment).out;
        add(environment, "", description);
        kept.write(description);
      }
      return;
    } catch (const RegistryError& e) {
      missing = e.what();
    }
  }
  for (const Operator* op : operators()) {
    if (op->schema.ns != "aten") continue;
    Kernel k;
    k.op = op;
    k.schema = op->schema.text;
    k.name = k.table_name = "torch";
    k.unavailable = missing;
    k.peer = true;
    k.environment = environment;
    insert(std::move(k));
  }
}

std::vector<const Kernel*> Registry::kernels_of(const Operator& op) const {
  std::vector<const Kernel*> found;
  for (const Kernel& k : kernels_)
    if (k.op == &op) found.push_back(&k);
  std::ranges::stable_sort(found, {}, [](const Kernel* k) { return rank(*k); });
  return found;
}

}  // namespace assay
