#include "gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "file.h"

namespace assay {
namespace {

constexpr int kOfGzip = 16 + MAX_WBITS;  // zlib: with the header and trailer of gzip
constexpr std::size_t kMost = std::size_t{1} << 30;
constexpr std::size_t kPiece = 1 << 16;

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, kOfGzip) != Z_OK) throw std::bad_alloc();
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

// zlib's counters have 32 bits.
uInt limited(std::size_t n) { return static_cast<uInt>(std::min(n, kMost)); }

Bytef* bytes_of(const char* text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text)); }

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gunzipped(std::string_view bytes, const std::string& name) {
  const auto cannot = [&](std::string_view why) -> FileError {
    return FileError(fmt::format("cannot read {}: {}", name, why));
  };
  Inflater inflater;
  z_stream& z = inflater.stream();
  std::string content;
  std::size_t taken = 0;
  char some[kPiece];
  for (;;) {
    z.next_in = bytes_of(bytes.data() + taken);
    z.avail_in = limited(bytes.size() - taken);
    z.next_out = bytes_of(some);
    z.avail_out = kPiece;
    const uInt offered = z.avail_in;
    const int state = inflate(&z, Z_NO_FLUSH);
    taken += offered - z.avail_in;
    content.append(some, kPiece - z.avail_out);
    if (content.size() > kMost) throw cannot("it holds more than 1 GiB, compressed by gzip");
    if (state == Z_STREAM_END) {
      if (taken == bytes.size()) return content;
      if (!is_gzip(bytes.substr(taken))) throw cannot("something follows what gzip compressed");
      inflateReset(&z);
    } else if (state == Z_BUF_ERROR || (state == Z_OK && taken == bytes.size() && z.avail_out != 0)) {
      throw cannot("it ends before what gzip compressed does");
    } else if (state == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (state != Z_OK) {
      throw cannot(fmt::format("gzip's bytes are damaged ({})", z.msg != nullptr ? z.msg : "unknown method"));
    }
  }
}

std::string read_text(const std::string& path) {
  std::string text = read_file(path);
  return is_gzip(text) ? gunzipped(text, path == "-" ? "standard input" : path) : text;
}

std::string gzipped(std::string_view content) {
  z_stream z{};
  constexpr int kMemory = 9;
  if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, kOfGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string bytes;
  char some[kPiece];
  std::size_t taken = 0;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    const uInt offered = limited(content.size() - taken);
    z.next_in = bytes_of(content.data() + taken);
    z.avail_in = offered;
    z.next_out = bytes_of(some);
    z.avail_out = kPiece;
    state = deflate(&z, taken + offered == content.size() ? Z_FINISH : Z_NO_FLUSH);
    taken += offered - z.avail_in;
    bytes.append(some, kPiece - z.avail_out);
  }
  deflateEnd(&z);
  return bytes;
}

}  // namespace assay
