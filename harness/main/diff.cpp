// assay diff
#include "../diff/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "commands.h"
#include "reports/file.h"
#include "shared_flags.h"
#include "terminal.h"

namespace assay {
namespace {

struct DiffFlags {
  std::string a, b, map, json, svg;
};

// Where one of the two is a raw file of another size, the other may say why.
std::pair<std::unique_ptr<TensorFile>, std::unique_ptr<TensorFile>> open_both(const DiffFlags& flags) {
  std::unique_ptr<TensorFile> a, b;
  std::optional<RawSizeError> wrong;
  const auto open = [&](const std::string& place, std::unique_ptr<TensorFile>& file) {
    try {
      file = open_tensors_at(place);
    } catch (const RawSizeError& e) {
      if (wrong) throw;
      wrong.emplace(e);
    }
  };
  open(flags.a, a);
  open(flags.b, b);
  if (wrong) throw FileError(wrong->what() + diff::why_of_that_size(*wrong, a ? *a : *b));
  return {std::move(a), std::move(b)};
}

int diff_command(const DiffFlags& flags) {
  std::vector<std::string> inputs{flags.map};
  for (const std::string& place : {flags.a, flags.b})
    std::ranges::move(files_of_tensors(place), std::back_inserter(inputs));
  check_files({{"--json", flags.json}, {"--svg", flags.svg}}, inputs);
  const auto map = flags.map.empty() ? diff::NameMap{} : diff::read_name_map(flags.map);
  const auto [a, b] = open_both(flags);
  diff::Diff result;
  {
    ProgressLine line;
    result = diff::diff(*a, *b, map, [&](const std::string& name) { line.show(name); });
  }
  if (result.is_blind())
    throw UsageError(
        result.unsupported.empty()
            ? fmt::format("nothing was compared: neither {} nor {} has a tensor", flags.a, flags.b)
            : fmt::format("nothing was compared, as no tensor can be read:\n  {}",
                          fmt::join(result.unsupported, "\n  ")));
  if (flags.json != "-" && flags.svg != "-") fmt::print("{}", diff::to_text(result, Style(use_colour())));
  if (!flags.json.empty()) write_file(flags.json, diff::to_json(result));
  if (!flags.svg.empty()) write_file(flags.svg, to_svg(result));
  return result.differs() ? kFaultFound : kAllWell;
}

}  // namespace

void add_diff(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("diff", "Where and how two tensors, or two sets of tensors, differ");
  command->footer(
      "A and B are .npy, .npz, safetensors, HDF5 (case files, too), a TensorProto of ONNX, a folder of .npy, or raw bytes:\n"
      "raw:f32[2x3x4]@weights.bin; FILE:NAME is one tensor of a file. Tensors are matched by name, and else by --map, or by shape and content, which is then said.\n"
      "For each: how many elements are equal, within 1 ulp, within 16, farther apart, NaN or infinite on one side alone; the\n"
      "farthest; and the smallest rule that says which elements are wrong (\"dimension 1 is not 0 and a is below 0\").\n"
      "A permutation or another shape is never taken for the same, but found and named, and so are rows that lie farther apart\n"
      "than they are long, and a header before raw bytes.\n\n"
      "  assay diff torch.npz engine.npz\n"
      "  assay diff torch.npz:conv1.weight engine.h5:model/conv1/kernel\n"
      "  assay diff y.npy raw:f32[1x64x56x56]@dump.bin\n"
      "  assay diff a.safetensors b.safetensors --map names.txt --json -\n\n"
      "In the file of --map, # begins a comment at the start of a line or after a space (act/prelu#2 is a name), and \"..\" holds a\n"
      "name with spaces.\n\n"
      "Exit code 0: the same (0 and -0 are); 1: they differ; 2: a file cannot be read.");
  auto flags = std::make_shared<DiffFlags>();
  command->add_option("A", flags->a, "tensors that are thought to be right")->required()->type_name("");
  command->add_option("B", flags->b, "tensors to compare with them")->required()->type_name("");
  command
      ->add_option("--map", flags->map, "a text file: a line for each pair, the name in A and the name in B")
      ->type_name("FILE");
  command->add_option("--json", flags->json, "write the result; - is standard output")->type_name("F");
  command->add_option("--svg", flags->svg, "draw where each tensor differs; - is standard output")
      ->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return diff_command(*flags); }; });
}

}  // namespace assay
