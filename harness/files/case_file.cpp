#include "case_file.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "case_file_check.h"
#include "hdf5.h"
#include "recurrent_call.h"

namespace assay {
namespace {

using hdf5::Handle;

static_assert(std::endian::native == std::endian::little, "tensors are stored as they lie in memory");

constexpr std::string_view kFormat = "assay.case/1";
constexpr std::string_view kFamily = "assay.case/";
constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr unsigned char kFirstChecksummedVersion = 2;  // of the superblock

constexpr std::array<std::string_view, 13> kCallAttributes{
    "op",   "case",   "seed",    "impl",      "contract", "verdict",        "detail",
    "name", "plugin", "program", "variables", "attempts", "failed_attempts"};

bool is_call_attribute(std::string_view name) {
  for (const std::string_view known : kCallAttributes)
    if (known == name) return true;
  return false;
}

// ---- Writing ----------------------------------------------------------------------------------------------

template <class T>
std::span<const std::byte> raw(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

void write_tensor(hid_t group, const std::string& name, const RecordedTensor& t) {
  hdf5::write_dataset(group, name, t.dtype, t.shape, t.data, true);
}

// Keys with a "/" are entries of a list and go to a group of its name.
void write_tensors(hid_t call, const std::string& name,
                   const std::map<std::string, RecordedTensor>& tensors) {
  const Handle group = hdf5::create_group(call, name);
  for (const auto& [key, tensor] : tensors) {
    const std::size_t slash = key.find('/');
    if (slash == std::string::npos) {
      write_tensor(group, key, tensor);
      continue;
    }
    const std::string list = key.substr(0, slash);
    const Handle entries =
        hdf5::contains(group, list) ? hdf5::open_group(group, list) : hdf5::create_group(group, list);
    write_tensor(entries, key.substr(slash + 1), tensor);
  }
}

void write_expected(hid_t call, const std::map<std::string, RecordedOutput>& outputs) {
  const Handle expected = hdf5::create_group(call, "expected");
  for (const auto& [name, output] : outputs) {
    if (output.value.empty() && output.lower.empty() && output.actual) continue;
    const Handle group = hdf5::create_group(expected, name);
    hdf5::write_dataset(group, "value", Dtype::f64, output.shape, raw(output.value), false);
    if (output.lower.size() == output.value.size() && output.upper.size() == output.value.size()) {
      hdf5::write_dataset(group, "lower", Dtype::f64, output.shape, raw(output.lower), false);
      hdf5::write_dataset(group, "upper", Dtype::f64, output.shape, raw(output.upper), false);
    }
    if (!output.special.empty())
      hdf5::write_dataset(group, "special", Dtype::u8, output.shape, raw(output.special), false);
  }
}

void write_actual(hid_t call, const std::map<std::string, RecordedOutput>& outputs) {
  const Handle group = hdf5::create_group(call, "actual");
  for (const auto& [name, output] : outputs)
    if (output.actual) write_tensor(group, name, *output.actual);
}

void write_call(hid_t group, const RecordedCall& call) {
  hdf5::write_text(group, "op", call.op);
  hdf5::write_text(group, "case", call.case_text);
  hdf5::write_number(group, "seed", call.seed);
  hdf5::write_text(group, "impl", call.impl);
  hdf5::write_text(group, "contract", call.contract);
  hdf5::write_text(group, "verdict", call.verdict);
  hdf5::write_text(group, "detail", call.detail);
  hdf5::write_text(group, "name", call.name);
  hdf5::write_text(group, "plugin", call.plugin);
  hdf5::write_texts(group, "program", call.program);
  hdf5::write_texts(group, "variables", call.variables);
  hdf5::write_number(group, "attempts", call.attempts);
  hdf5::write_number(group, "failed_attempts", call.failed_attempts);
  for (const auto& [name, value] : call.notes) {
    if (is_call_attribute(name))
      throw hdf5::Error(fmt::format("note {} is an attribute of every call", name));
    hdf5::write_text(group, name, value);
  }
  write_tensors(group, "inputs", call.inputs);
  write_expected(group, call.outputs);
  write_actual(group, call.outputs);
  if (!call.stages.empty()) write_tensors(group, "stages", call.stages);
}

void write_beside(hid_t call, const std::string& name, const std::vector<RecordedCall>& calls) {
  if (calls.empty()) return;
  const Handle group = hdf5::create_group(call, name);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    check_recorded(calls[i]);
    write_call(hdf5::create_group(group, std::to_string(i)), calls[i]);
  }
}

void write_root(hid_t root, const CaseFile& file) {
  hdf5::write_text(root, "format", std::string(kFormat));
  hdf5::write_text(root, "creator", file.creator);
  hdf5::write_text(root, "cpu", file.cpu);
  hdf5::write_texts(root, "isa", file.isa);
  std::vector<std::string> libraries;
  for (const auto& [library, version] : file.libraries) libraries.push_back(library + "=" + version);
  hdf5::write_texts(root, "libraries", libraries);
  const Handle calls = hdf5::create_group(root, "calls");
  for (std::size_t i = 0; i < file.calls.size(); ++i) try {
      check_recorded(file.calls[i]);
      const Handle call = hdf5::create_group(calls, std::to_string(i));
      write_call(call, file.calls[i]);
      write_beside(call, "before", file.calls[i].before);
      write_beside(call, "after", file.calls[i].after);
    } catch (const std::runtime_error& error) {
      throw hdf5::Error(fmt::format("call {}: {}", i, error.what()));
    }
}

// ---- Reading ----------------------------------------------------------------------------------------------

std::string text_or_empty(hid_t object, const std::string& name) {
  return hdf5::has_attribute(object, name) ? hdf5::read_text(object, name) : std::string();
}
std::vector<std::string> texts_or_none(hid_t object, const std::string& name) {
  return hdf5::has_attribute(object, name) ? hdf5::read_texts(object, name) : std::vector<std::string>();
}
std::uint64_t number_or_zero(hid_t object, const std::string& name) {
  return hdf5::has_attribute(object, name) ? hdf5::read_number(object, name) : 0;
}

RecordedTensor read_tensor(hid_t group, const std::string& name, hdf5::Budget& budget) {
  hdf5::Array array = hdf5::read_dataset(group, name, &budget);
  return {array.dtype, std::move(array.shape), std::move(array.data)};
}

std::map<std::string, RecordedTensor> read_tensors(hid_t group, hdf5::Budget& budget) {
  std::map<std::string, RecordedTensor> tensors;
  for (const std::string& name : hdf5::children(group)) {
    if (!hdf5::is_group(group, name)) {
      tensors[name] = read_tensor(group, name, budget);
      continue;
    }
    budget.take(0);
    const Handle entries = hdf5::open_group(group, name);
    for (const std::string& entry : hdf5::children(entries))
      tensors[fmt::format("{}/{}", name, entry)] = read_tensor(entries, entry, budget);
  }
  return tensors;
}

// The numbers of one dataset of an output; all of them have the shape of `value`.
template <class T>
std::vector<T> numbers_of(const hdf5::Array& array, const std::string& name, Dtype dtype,
                          const RecordedOutput& output) {
  if (array.dtype != dtype)
    throw hdf5::Error(
        fmt::format("dataset {} is {}, not {}", name, assay::name(array.dtype), assay::name(dtype)));
  if (array.shape != output.shape)
    throw hdf5::Error(
        fmt::format("dataset {} is [{}], but value is [{}]", name, text(array.shape), text(output.shape)));
  std::vector<T> values(array.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), array.data.data(), array.data.size());
  return values;
}

RecordedOutput read_expected(hid_t group, hdf5::Budget& budget) {
  RecordedOutput output;
  const auto read = [&](const char* name) { return hdf5::read_dataset(group, name, &budget); };
  const hdf5::Array value = read("value");
  output.shape = value.shape;
  output.value = numbers_of<double>(value, "value", Dtype::f64, output);
  if (hdf5::contains(group, "lower") || hdf5::contains(group, "upper")) {
    output.lower = numbers_of<double>(read("lower"), "lower", Dtype::f64, output);
    output.upper = numbers_of<double>(read("upper"), "upper", Dtype::f64, output);
  }
  if (hdf5::contains(group, "special"))
    output.special = numbers_of<std::uint8_t>(read("special"), "special", Dtype::u8, output);
  return output;
}

void read_outputs(hid_t call, std::map<std::string, RecordedOutput>& outputs, hdf5::Budget& budget) {
  if (hdf5::contains(call, "expected")) {
    const Handle expected = hdf5::open_group(call, "expected");
    for (const std::string& name : hdf5::children(expected)) try {
        outputs[name] = read_expected(hdf5::open_group(expected, name), budget);
      } catch (const hdf5::Error& error) {
        throw hdf5::Error(fmt::format("expected/{}: {}", name, error.what()));
      }
  }
  if (!hdf5::contains(call, "actual")) return;
  const Handle actual = hdf5::open_group(call, "actual");
  for (const std::string& name : hdf5::children(actual)) {
    RecordedTensor tensor = read_tensor(actual, name, budget);
    const auto [entry, is_new] = outputs.try_emplace(name);
    if (is_new) entry->second.shape = tensor.shape;
    entry->second.actual = std::move(tensor);
  }
}

// What a call's attributes take at least, which are stored as they are.
std::size_t bytes_of_texts(const RecordedCall& call) {
  std::size_t bytes = 0;
  for (const std::string* text : {&call.op, &call.case_text, &call.impl, &call.contract, &call.verdict,
                                  &call.detail, &call.name, &call.plugin})
    bytes += text->size();
  for (const auto* texts : {&call.program, &call.variables})
    for (const std::string& text : *texts) bytes += text.size();
  for (const auto& [name, text] : call.notes) bytes += name.size() + text.size();
  return bytes;
}

RecordedCall read_call(hid_t group, hdf5::Budget& budget) {
  RecordedCall call;
  call.op = hdf5::read_text(group, "op");
  call.case_text = hdf5::read_text(group, "case");
  call.seed = hdf5::read_number(group, "seed");
  call.impl = hdf5::read_text(group, "impl");
  call.contract = hdf5::read_text(group, "contract");
  call.verdict = text_or_empty(group, "verdict");
  call.detail = text_or_empty(group, "detail");
  call.name = text_or_empty(group, "name");
  call.plugin = text_or_empty(group, "plugin");
  call.program = texts_or_none(group, "program");
  call.variables = texts_or_none(group, "variables");
  call.attempts = number_or_zero(group, "attempts");
  call.failed_attempts = number_or_zero(group, "failed_attempts");
  for (const std::string& name : hdf5::attributes(group))
    if (!is_call_attribute(name) && hdf5::is_text(group, name))
      call.notes[name] = hdf5::read_text(group, name);
  budget.take(bytes_of_texts(call));
  call.inputs = read_tensors(hdf5::open_group(group, "inputs"), budget);
  read_outputs(group, call.outputs, budget);
  if (hdf5::contains(group, "stages")) call.stages = read_tensors(hdf5::open_group(group, "stages"), budget);
  return call;
}

std::vector<RecordedCall> read_beside(hid_t call, const std::string& name, hdf5::Budget& budget) {
  std::vector<RecordedCall> calls;
  if (!hdf5::contains(call, name)) return calls;
  budget.take(0);
  const Handle group = hdf5::open_group(call, name);
  const std::size_t count = hdf5::children(group).size();
  for (std::size_t i = 0; i < count; ++i) {
    try {
      calls.push_back(read_call(hdf5::open_group(group, std::to_string(i)), budget));
      check_recorded(calls.back());
    } catch (const std::runtime_error& error) {
      throw hdf5::Error(fmt::format("{}/{}: {}", name, i, error.what()));
    }
  }
  return calls;
}

void require_format(hid_t root) {
  if (!hdf5::has_attribute(root, "format"))
    throw hdf5::Error("it is HDF5, but not a case file: the attribute format is missing");
  const std::string format = hdf5::read_text(root, "format");
  if (format == kFormat) return;
  if (format.starts_with(kFamily))
    throw hdf5::Error(
        fmt::format("its format is {}, and this program reads {}: use a newer Assay", format, kFormat));
  throw hdf5::Error(
      fmt::format("it is HDF5, but not a case file: its format is \"{}\", not {}", format, kFormat));
}

CaseFile read_root(hid_t root, std::size_t bytes) {
  require_format(root);
  CaseFile file;
  file.creator = text_or_empty(root, "creator");
  file.cpu = text_or_empty(root, "cpu");
  file.isa = texts_or_none(root, "isa");
  for (const std::string& library : texts_or_none(root, "libraries")) {
    const std::size_t equals = library.find('=');
    if (equals == std::string::npos)
      throw hdf5::Error(fmt::format("attribute libraries has \"{}\", which is not NAME=VERSION", library));
    file.libraries[library.substr(0, equals)] = library.substr(equals + 1);
  }
  hdf5::Budget budget(bytes);
  const Handle calls = hdf5::open_group(root, "calls");
  const std::size_t count = hdf5::children(calls).size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string where = fmt::format("call {}", i);
    try {
      const Handle call = hdf5::open_group(calls, std::to_string(i));
      file.calls.push_back(read_call(call, budget));
      read_as_graph(file.calls.back());
      check_recorded(file.calls.back());
      file.calls.back().before = read_beside(call, "before", budget);
      file.calls.back().after = read_beside(call, "after", budget);
    } catch (const std::runtime_error& error) {
      throw hdf5::Error(fmt::format("{}: {}", where, error.what()));
    }
  }
  return file;
}

// What HDF5 1.10 would say of these would not help, and damaged files of the older format crash or hang it.
void require_hdf5(std::string_view bytes) {
  if (bytes.empty()) throw hdf5::Error("it is empty");
  if (!bytes.starts_with(kSignature.substr(0, bytes.size()))) throw hdf5::Error("it is not an HDF5 file");
  if (bytes.size() <= kSignature.size()) throw hdf5::Error("it is truncated");
  const unsigned version = static_cast<unsigned char>(bytes[kSignature.size()]);
  if (version < kFirstChecksummedVersion)
    throw hdf5::Error(
        "it is in HDF5's older file format, which has no checksums; write it in the newer one "
        "(libver=\"latest\" in h5py)");
}

}  // namespace

std::string encode_case_file(const CaseFile& file, const std::string& name) try {
  const hdf5::Session session;
  return hdf5::build_file([&](hid_t root) { write_root(root, file); });
} catch (const std::runtime_error& error) {
  throw FileError(fmt::format("cannot write {}: {}", name, error.what()));
} catch (const std::bad_alloc&) {
  throw FileError(fmt::format("cannot write {}: not enough memory", name));
}

CaseFile decode_case_file(std::span<const std::byte> bytes, const std::string& name) try {
  require_hdf5({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const hdf5::Session session;
  const Handle root = hdf5::open_image(bytes);
  return read_root(root, bytes.size());
} catch (const std::runtime_error& error) {
  throw FileError(fmt::format("cannot read the case file {}: {}", name, error.what()));
} catch (const std::bad_alloc&) {
  throw FileError(fmt::format("cannot read the case file {}: it needs more memory than there is", name));
}

void write_case_file(const std::string& path, const CaseFile& file) {
  write_file(path, encode_case_file(file, path));
}

CaseFile read_case_file(const std::string& path) {
  const std::string bytes = read_file(path);
  return decode_case_file(std::as_bytes(std::span(bytes)), path);
}

}  // namespace assay
