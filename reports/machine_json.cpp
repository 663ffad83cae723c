#include "machine_json.h"

#include <limits>

namespace assay {

Machine read_machine(const JsonReader& value) {
  Machine m;
  m.cpu = value.text_or("cpu", "");
  const JsonReader::Optional cores = value.find("cores");
  if (cores) {
    const std::uint64_t count = cores->count();
    if (count > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) cores->fail("too many cores");
    m.cores = static_cast<int>(count);
  }
  if (const JsonReader::Optional isa = value.find("isa"))
    for (const JsonReader& level : isa->items()) m.isa.push_back(level.text());
  if (const JsonReader::Optional libraries = value.find("libraries"))
    for (const auto& [name, version] : libraries->members()) m.libraries[name] = version.text();
  m.compiler = value.text_or("compiler", "");
  m.version = value.text_or("version", "");
  return m;
}

}  // namespace assay
