// Compressed files: gunzipped() throws FileError that names the file, or gives what gzipped() gives back.
#include "reports/gzip.h"

#include "reports/file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {gzipped("{\"format\": \"assay.run/1\"}\n"), gzipped("") + gzipped(std::string(100'000, 'a')),
          gzipped("a")};
}

bool run(std::string_view input) {
  return accepted([&] {
    const std::string content = gunzipped(input, kInputName);
    if (gunzipped(gzipped(content), kInputName) != content) broken("compressed again, it is another text");
  });
}

}  // namespace

const Target kGzip{"gzip", seeds, run};

}  // namespace assay::fuzz
