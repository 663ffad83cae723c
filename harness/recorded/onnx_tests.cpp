#include "onnx_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "../onnx/map.h"
#include "../onnx/protobuf.h"

namespace assay::onnx {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModel = "model.onnx";
constexpr std::string_view kDataSet = "test_data_set_";

std::vector<fs::path> sorted(std::vector<fs::path> paths) {
  std::ranges::sort(paths);
  return paths;
}

// A message that names the file.
template <class Read>
auto read(const fs::path& file, const Read& what) {
  const std::string bytes = read_file(file.string());
  try {
    return what(bytes);
  } catch (const ProtobufError& e) {
    throw FileError(fmt::format("cannot read {} as ONNX: {}", file.string(), e.what()));
  }
}

// input_0.pb, input_1.pb, .. by the names of the graph's inputs; as many as there are.
std::map<std::string, RecordedTensor> read_values(const fs::path& set, std::string_view kind,
                                                  const Model& model, const std::vector<std::string>& names) {
  std::map<std::string, RecordedTensor> values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const fs::path file = set / fmt::format("{}_{}.pb", kind, i);
    if (!fs::exists(file)) continue;
    if (model.not_tensors.contains(names[i])) throw Unsupported("sequences, maps or optional tensors");
    values[names[i]] = read(file, [](std::string_view bytes) { return read_tensor(bytes); });
  }
  return values;
}

Example example_of(const Model& model, const fs::path& set) {
  if (model.nodes.size() != 1) throw Unmapped("a graph of other than one operator");
  Example e;
  e.node = model.nodes[0];
  e.opset = model.opset;
  for (const auto& [name, a] : e.node.attributes)
    if (a.is_graph) throw Unmapped("of an operator that Assay has not");
  std::map<std::string, RecordedTensor> inputs = read_values(set, "input", model, model.inputs);
  const std::map<std::string, RecordedTensor> outputs = read_values(set, "output", model, model.outputs);
  for (const std::string& name : e.node.inputs) {
    const auto given = inputs.find(name);
    const auto constant = model.initializers.find(name);
    e.inputs.emplace_back();
    if (name.empty()) continue;
    if (given != inputs.end())
      e.inputs.back() = given->second;
    else if (constant != model.initializers.end())
      e.inputs.back() = constant->second;
    else
      throw FileError(fmt::format("{}: there is no input_*.pb for {}", set.string(), name));
  }
  for (const std::string& name : e.node.outputs) {
    const auto given = outputs.find(name);
    e.outputs.push_back(given == outputs.end() ? std::nullopt : std::optional(given->second));
  }
  return e;
}

// Who computed the results: ONNX's scripts in NumPy, or PyTorch, from which models were converted.
bool by_pytorch(const fs::path& test) {
  return fs::absolute(test).parent_path().filename().string().starts_with("pytorch");
}

void add_set(Fixtures& all, const Model& model, const fs::path& test, const fs::path& set) {
  ++all.found;
  std::string reason;
  try {
    Example example = example_of(model, set);
    example.by_numpy = !by_pytorch(test);
    RecordedCall call = call_of(example);
    call.impl = example.by_numpy ? "onnx" : "onnx.pytorch";
    try {
      all.fixtures.push_back(fixture_of(call, set.string()));
      return;
    } catch (const FileError& e) {
      // What Assay's operator does not allow, without where and which one.
      const std::string what = std::string(e.what()).substr(set.string().size() + 2);
      reason = fmt::format("{}: {}", call.op, what);
    }
  } catch (const Unmapped& e) {
    reason = e.what();
  } catch (const Unsupported& e) {
    reason = e.what();
  }
  ++all.left_out[reason];
}

bool is_test(const fs::path& folder) { return fs::exists(folder / kModel); }

}  // namespace

bool is_tests(const std::string& folder) {
  if (!fs::is_directory(folder)) return false;
  if (is_test(folder)) return true;
  return std::any_of(fs::directory_iterator(folder), fs::directory_iterator(),
                     [](const fs::directory_entry& entry) { return is_test(entry.path()); });
}

Fixtures read_tests(const std::string& folder) {
  Fixtures all;
  all.source = folder;
  std::vector<fs::path> tests;
  if (is_test(folder)) tests.emplace_back(folder);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_directory() && is_test(entry.path())) tests.push_back(entry.path());
  for (const fs::path& test : sorted(std::move(tests))) {
    std::vector<fs::path> sets;
    for (const fs::directory_entry& entry : fs::directory_iterator(test))
      if (entry.is_directory() && entry.path().filename().string().starts_with(kDataSet))
        sets.push_back(entry.path());
    if (sets.empty()) continue;  // the models of `real`, whose data are elsewhere
    std::optional<Model> model;
    std::string unsupported;
    try {
      model = read(test / kModel, [](std::string_view bytes) { return read_model(bytes); });
    } catch (const Unsupported& e) {
      unsupported = e.what();
    }
    for (const fs::path& set : sorted(std::move(sets))) {
      if (model) {
        add_set(all, *model, test, set);
      } else {
        ++all.found;
        ++all.left_out[unsupported];
      }
    }
  }
  return all;
}

}  // namespace assay::onnx
