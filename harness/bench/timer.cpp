#include "timer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "../plugin/load.h"
#include "../plugin/private_copy.h"
#include "../run/forbidden.h"
#include "bandwidth.h"
#include "call_limit.h"
#include "clock.h"
#include "kept_files.h"
#include "placement.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr int kOwn = -1;

std::string_view token(Checking::Status status) {
  switch (status) {
    case Checking::Status::right:
      return "right";
    case Checking::Status::refused:
      return "refused";
    default:
      return "wrong";
  }
}

Json described(const std::vector<Checking>& all) {
  Json list = Json::array();
  for (const Checking& c : all)
    list.push_back({{"status", token(c.status)}, {"reason", c.reason}, {"information", c.information}});
  return list;
}

Json described(const Series& series, std::size_t from) {
  const auto tail = [from](const std::vector<double>& x) {
    return std::vector<double>(x.begin() + static_cast<std::ptrdiff_t>(std::min(from, x.size())), x.end());
  };
  return {{"cpu", tail(series.cpu)}, {"wall", tail(series.wall)}};
}

class Timer {
 public:
  Timer(std::vector<WorkerTable> modules, TimedTable own)
      : modules_(std::move(modules)), own_(std::move(own)) {}

  Json answer(const Json& request) {
    const std::string what = request.at("do");
    if (what == "open") return open(request);
    if (what == "measure") return measure(request);
    if (what == "close") return close();
    if (what == "entries") return entries(request);
    if (what == "bandwidths") return bandwidths();
    throw std::invalid_argument(fmt::format("unknown request {}", what));
  }

 private:
  Json open(const Json& request) {
    group_.reset();
    GroupOptions options;
    options.cache = *cache_named(request.at("cache").get<std::string>());
    options.limits = request.at("limits");
    options.same_count = request.at("same_count");
    options.batch_ns = request.at("batch_ns");
    options.seed = request.at("seed");
    options.timeout = request.at("timeout");
    options.threads = request.at("threads");
    std::vector<Contestant> contestants;
    for (const Json& k : request.at("kernels")) contestants.push_back(contestant(k));
    const std::optional<Device> device = contestants.empty() ? std::nullopt : contestants.front().device;
    group_ = std::make_unique<Group>(parse_case(request.at("case").get<std::string>()),
                                     std::move(contestants), fastest_exp(), options);
    seen_ = 0;
    limits_seen_ = 0;
    const Work& w = group_->work();
    const Operations& o = w.operations;
    return {{"kernels", described(group_->check())},
            {"operations", o.additions + o.multiplications + o.divisions + o.roots + o.comparisons},
            {"functions", o.functions},
            {"dtype", name(group_->call().outputs[0].computed_in)},
            {"bytes", w.bytes_read + w.bytes_written},
            {"sets", group_->sets()},
            {"device", device_name(device)},
            {"device_cache", device ? device->cache_bytes() : 0},
            {"bytes_of_set", group_->bytes_of_set()}};
  }

  Json measure(const Json& request) {
    if (!group_) throw std::logic_error("nothing is open");
    const Moment begin = now();
    group_->measure(request.at("rounds"), request.at("seconds"));
    Json answer{{"elapsed", since(begin).wall}, {"kernels", Json::array()}};
    const std::vector<std::uint64_t> calls = group_->calls();
    std::size_t rounds = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      Json one = described(group_->times()[i], seen_);
      one["calls"] = calls[i];
      answer["kernels"].push_back(std::move(one));
      rounds = std::max(rounds, group_->times()[i].cpu.size());
    }
    const Group::Limits& l = group_->limits();
    answer["limits"] = {{"stream", described(l.stream, limits_seen_)},
                        {"streaming", described(l.streaming, limits_seen_)},
                        {"operation", described(l.operation, limits_seen_)},
                        {"element", described(l.element, limits_seen_)}};
    seen_ = rounds;
    limits_seen_ = std::max(l.stream.cpu.size(), l.operation.cpu.size());
    return answer;
  }

  Json close() {
    if (!group_) throw std::logic_error("nothing is open");
    Json answer{{"kernels", described(group_->check_again())}};
    group_.reset();
    return answer;
  }

  // Those of devices that libraries run kernels on, too. Where they cannot be measured, so says each row of that device.
  Json bandwidths() const {
    std::vector<MachineLimit> all = machine_limits();
    std::set<std::string> known;
    std::vector<const assay_device_timing*> timings;
    for (const WorkerTable& m : modules_) timings.push_back(m.timing);
    timings.push_back(own_.table.timing);
    for (const assay_device_timing* timing : timings) {
      if (timing == nullptr) continue;
      const Device device(*timing);
      const std::string name = device_name(device);
      if (name.empty() || !known.insert(name).second) continue;
      try {
        const std::vector<MachineLimit> more = device.limits();
        all.insert(all.end(), more.begin(), more.end());
      } catch (const std::runtime_error&) {
        continue;
      }
    }
    Json list = Json::array();
    for (const MachineLimit& l : all) {
      list.push_back(
          {{"name", l.name}, {"kind", l.kind}, {"level", l.level}, {"dtype", l.dtype}, {"value", l.value}});
      if (!l.device.empty()) list.back()["device"] = l.device;
    }
    return {{"limits", std::move(list)}};
  }

  static std::string device_name(const std::optional<Device>& device) {
    std::string ignored;
    return device ? device->name(ignored).value_or("") : "";
  }

  const std::vector<assay_kernel>& kernels(int module) const {
    if (module == kOwn) return own_.table.kernels;
    return modules_.at(static_cast<std::size_t>(module)).kernels;
  }

  std::optional<Device> device_of(int module) const {
    const assay_device_timing* const timing =
        module == kOwn ? own_.table.timing : modules_.at(static_cast<std::size_t>(module)).timing;
    if (timing == nullptr)
      throw std::runtime_error(
          "its library has no assay_device_timing_v1 (assay/device_timing.h) to time kernels of a device by");
    const Device device(*timing);
    std::string why_not;
    if (!device.name(why_not)) throw std::runtime_error("its library has no device: " + why_not);
    return device;
  }

  const assay_kernel& find(const Json& k) const {
    const std::string schema = k.at("schema"), name = k.at("name");
    for (const assay_kernel& found : kernels(k.at("module")))
      if (schema == found.schema && name == (found.name != nullptr ? found.name : "")) return found;
    throw std::invalid_argument(fmt::format("kernel {} for {} is not where it was", name, schema));
  }

  Contestant contestant(const Json& k) const {
    Contestant c;
    c.kernel = find(k);
    c.contract = k.at("contract");
    c.slowed = k.value("slowed", 0.0);
    if ((c.kernel.flags & ASSAY_ON_DEVICE) != 0) c.device = device_of(k.at("module"));
    if (k.at("module") == kOwn) {
      if (!c.device) c.prepare = own_.prepare;
      c.information = own_.table.information;
    }
    return c;
  }

  Json entries(const Json& request) const {
    Json list = Json::array();
    for (const Json& k : request.at("kernels")) {
      const assay_kernel& kernel = find(k);
      Json functions = Json::array();
      for (auto* const function : {kernel.run, kernel.refuses}) {
        Dl_info where{};
        auto* const code = reinterpret_cast<void*>(function);
        if (code != nullptr && dladdr(code, &where) != 0)
          functions.push_back(static_cast<const char*>(code) - static_cast<const char*>(where.dli_fbase));
      }
      // What a kernel finds in its context is not in its code.
      if (kernel.context != nullptr || functions.empty()) functions = nullptr;
      list.push_back(std::move(functions));
    }
    return {{"entries", std::move(list)}};
  }

  // The first of ours that runs here; the tables have the widest vectors last.
  std::optional<assay_kernel> fastest_exp() const {
    std::optional<assay_kernel> fastest;
    for (const WorkerTable& m : modules_)
      for (const assay_kernel& k : m.kernels)
        if (std::string_view(k.schema).starts_with("exp(") && (k.flags & ASSAY_PEER) == 0 &&
            (k.unavailable == nullptr || k.unavailable() == nullptr))
          fastest = k;
    return fastest;
  }

  std::vector<WorkerTable> modules_;
  TimedTable own_;
  std::unique_ptr<Group> group_;
  std::size_t seen_ = 0;  // rounds that were told already
  std::size_t limits_seen_ = 0;
};

// From memory of its own, which no other process shares and no other library; as a file where that is impossible, because it looks for
// others beside it.
WorkerTable load_copy(const std::string& library) {
  const int copy = memfd_create("assay", MFD_CLOEXEC);
  const int file = open(private_copy_of(library).c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  bool whole = copy >= 0 && file >= 0 && fstat(file, &status) == 0;
  for (off_t left = status.st_size; whole && left > 0;) {
    const ssize_t n = sendfile(copy, file, nullptr, static_cast<std::size_t>(left));
    whole = n > 0;
    left -= n;
  }
  if (file >= 0) close(file);
  if (whole) {
    try {
      return load_plugin_table(
          fmt::format("/proc/self/fd/{}", copy));  // which stays open, so that the number stays its own
    } catch (const PluginError&) {
    }
  }
  if (copy >= 0) close(copy);
  return load_plugin_table(library);
}

// A line at a time.
class Lines {
 public:
  explicit Lines(int socket) : socket_(socket) {}

  bool read(std::string& line) {
    for (;;) {
      const std::size_t end = buffer_.find('\n');
      if (end != std::string::npos) {
        line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return true;
      }
      char bytes[65536];
      const ssize_t n = ::read(socket_, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      buffer_.append(bytes, static_cast<std::size_t>(n));
    }
  }
  bool write(std::string line) {
    line += '\n';
    for (std::size_t at = 0; at < line.size();) {
      const ssize_t n = send(socket_, line.data() + at, line.size() - at, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  int socket_;
  std::string buffer_;
};

std::string said(const Json& answer) {
  // A kernel's message may be any bytes.
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int serve(int socket, std::span<const std::string> arguments, const std::function<TimedTable()>& own) {
  CallPage* const page = receive_call_page(socket);
  if (page == nullptr) return 1;
  keep_files();
  Lines lines(socket);
  std::vector<WorkerTable> modules;
  TimedTable mine;
  try {
    std::string cpus, node;
    std::vector<std::string> libraries;
    bool copies = false, reversed = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool has_value = i + 1 < arguments.size();
      if (arguments[i] == "--own")
        mine = own();
      else if (arguments[i] == "--module" && has_value)
        libraries.push_back(arguments[++i]);
      else if (arguments[i] == "--copies")
        copies = true;
      else if (arguments[i] == "--reversed")
        reversed = true;
      else if (arguments[i] == "--cpus" && has_value)
        cpus = arguments[++i];
      else if (arguments[i] == "--membind" && has_value)
        node = arguments[++i];
    }
    place_this_process(cpus, node);
    modules.resize(libraries.size());
    for (std::size_t i = 0; i < libraries.size(); ++i) {
      const std::size_t at = reversed ? libraries.size() - 1 - i : i;
      modules[at] = copies ? load_copy(libraries[at]) : load_plugin_table(libraries[at]);
    }
  } catch (const std::exception& error) {
    lines.write(said({{"error", error.what()}}));
    return 1;
  }
  // From now on; what it has is all that a kernel needs.
  if (!send_listener(socket, forbid_calls({}))) return 0;
  if (!lines.write(said({{"ready", true}}))) return 0;
  CallLimit::tell(*page);
  Timer timer(std::move(modules), std::move(mine));
  std::string line;
  while (lines.read(line)) {
    Json answer;
    try {
      answer = timer.answer(Json::parse(line));
    } catch (const std::bad_alloc&) {
      answer = {{"error", "there is not enough memory for its tensors"}};
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    if (!lines.write(said(answer))) break;
  }
  return 0;
}

}  // namespace

bool is_timer(int argc, char** argv) {
  return argc > 3 && std::strcmp(argv[1], "worker") == 0 && std::strcmp(argv[2], "--timer") == 0;
}

int timer_main(int argc, char** argv, const std::function<TimedTable()>& own) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the harness, which closes the socket
  const std::vector<std::string> arguments(argv + 4, argv + argc);
  const int status = serve(std::atoi(argv[3]), arguments, own);
  // Destructors of loaded libraries have nothing to add, and some crash.
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace assay
