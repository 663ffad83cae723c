#include "device.h"

#include <pybind11/eval.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "call.h"

namespace assay::oracle {
namespace {

// The clock begins after a kernel that sleeps while calls are asked for: 20 us each, at 2 GHz.
constexpr const char* kPython = R"(
import functools, os, subprocess, sys, time

if name == 'cuda':
    for backend, setting in ((torch.backends.cuda.matmul, 'allow_tf32'), (torch.backends.cudnn, 'allow_tf32'),
                             (torch.backends.cuda.matmul, 'allow_fp16_reduced_precision_reduction'),
                             (torch.backends.cuda.matmul, 'allow_bf16_reduced_precision_reduction')):
        if hasattr(backend, setting):
            setattr(backend, setting, False)

def missing():
    if name != 'cuda':
        return ''
    if not os.path.exists('/dev/nvidiactl') and not os.path.exists('/dev/dxg'):
        return 'not run: no device: there is no /dev/nvidiactl'
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            torch.zeros(1, device=name)
            answer = 'ok'
        except BaseException as error:
            answer = str(error).splitlines()[0]
        os.write(writer, answer.encode()[:500])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, 'rb') as pipe:
        answer = pipe.read().decode(errors='replace')
    os.waitpid(child, 0)
    if answer == 'ok':
        return ''
    # Where other kernels have started the driver in this process, as those that are timed beside torch's do, no child of it can
    # use the device; a program that is started anew can.
    asked = subprocess.run([sys.executable, '-I', '-c', 'import torch; torch.zeros(1, device="cuda" )'],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if asked.returncode == 0:
        return ''
    return 'not run: no device: ' + (answer or 'the process that asked torch for one died')

def title():
    return torch.cuda.get_device_name(0) if name == 'cuda' else 'torch on ' + name

def cache_bytes():
    if name != 'cuda':
        return 1 << 16
    return getattr(torch.cuda.get_device_properties(0), 'L2_cache_size', 128 << 20)

def wait():
    if name == 'cuda':
        torch.cuda.synchronize()

def measured(calls, cold):
    result = None
    if cold:
        torch.empty(2 * cache_bytes(), dtype=torch.uint8, device=device).zero_()
    if name != 'cuda':
        begin = time.perf_counter_ns()
        for call in calls:
            result = call()
        return time.perf_counter_ns() - begin, result
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(40000 * len(calls))
    begin.record()
    for call in calls:
        result = call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e6, result

def with_copies(call, to):
    def both():
        made = call()
        several = isinstance(made, tuple)
        for one, place in zip(made if several else (made,), to):
            if place is not None:
                place.copy_(one)
        return to if several else to[0]
    return both

def stream(read, written, copies, calls):
    bytes = max(1, (read + written) // 2)
    pairs = [tuple(torch.zeros(bytes, dtype=torch.uint8, device=device) for _ in range(2)) for _ in range(copies)]
    once = [functools.partial(pairs[i % copies][0].copy_, pairs[i % copies][1]) for i in range(calls)]
    once[0]()
    return float(measured(once, copies > 1)[0])

def arithmetic(dtype, wanted):
    n = max(16, round((wanted / 2) ** (1 / 3)))
    a = torch.full((n, n), 0.5, dtype=getattr(torch, dtype), device=device)
    torch.mm(a, a)
    return 2.0 * n ** 3, float(measured([functools.partial(torch.mm, a, a)], False)[0])
)";

constexpr const char* kContract =
    "layout_invariant=no row_invariant=no -- pytorch.org, Numerical accuracy: \"not guaranteed to produce bitwise identical "
    "results for floating point computations that are mathematically identical\", of batched and sliced ones\n"
    "moments=updating -- aten/src/ATen/native/SharedReduceOps.h, WelfordOps, and native/cuda/layer_norm_kernel.cu, cuWelfordOnlineSum\n"
    "deterministic=no -- pytorch.org, torch.use_deterministic_algorithms: of cumsum and others on CUDA tensors\n"
    "f32,f16,bf16: exp=2.5ulp expm1=1.5ulp log=1.5ulp log1p=2.5ulp tanh=2.5ulp erf=2.5ulp acos=3.5ulp -- CUDA C++ Programming "
    "Guide, Mathematical Functions, single precision\n"
    "f64: exp=1.5ulp expm1=1.5ulp log=1.5ulp log1p=1.5ulp tanh=2.5ulp erf=2.5ulp acos=2.5ulp -- CUDA C++ Programming Guide, "
    "Mathematical Functions, double precision";

TorchDevice* last = nullptr;

void say(assay_message message, const char* text) {
  if (message.capacity != 0) std::snprintf(message.text, message.capacity, "%s", text);
}

}  // namespace

TorchDevice::TorchDevice(const py::module_& torch, const Tensors& tensors, std::string name)
    : tensors_(tensors) {
  python_["torch"] = torch;
  python_["name"] = name;
  python_["device"] = device_ = torch.attr("device")(name);
  py::exec(kPython, python_);
  last = this;
}

std::optional<std::string> TorchDevice::named(const py::module_& torch) {
  if (const char* const other = std::getenv("ASSAY_TORCH_CUDA"); other != nullptr && *other != 0)
    return other;
  if (torch.attr("version").attr("cuda").is_none()) return std::nullopt;
  return "cuda";
}

const char* TorchDevice::contract() { return kContract; }

const char* TorchDevice::missing() {
  static const std::string answer = [] {
    const py::gil_scoped_acquire gil;
    try {
      return std::string(py::str(last->python_["missing"]()));
    } catch (const py::error_already_set& error) {
      return "not run: no device: " + what(error);
    }
  }();
  return answer.empty() ? nullptr : answer.c_str();
}

assay_tensor TorchDevice::in_a_row(const assay_tensor& tensor, std::int64_t& count) {
  count = 1;
  for (int d = 0; d < tensor.ndim; ++d) count += (tensor.shape[d] - 1) * tensor.strides[d];
  static constexpr std::int64_t kOne = 1;
  assay_tensor row = tensor;
  row.ndim = 1;
  row.shape = &count;
  row.strides = const_cast<std::int64_t*>(&kOne);
  return row;
}

py::object TorchDevice::there(const assay_tensor& tensor) const {
  const View& view = static_cast<const View&>(tensor);
  if (view.numel() == 0) return tensors_.wrap(tensor).attr("to")(device_);
  for (int d = 0; d < tensor.ndim; ++d)
    if (tensor.strides[d] < 0) return tensors_.wrap(tensor);  // which throws
  std::int64_t count = 0;
  const assay_tensor row = in_a_row(tensor, count);
  const auto* const begin = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  const std::int64_t bytes = count * tensor.dtype.bits / 8;
  py::object all;
  for (const Piece& p : pieces_)
    if (begin >= p.begin && begin + bytes <= p.begin + p.bytes) {
      const std::int64_t at = begin - p.begin;
      all = p.copies[copy_ % p.copies.size()]
                .attr("narrow")(0, at, bytes)
                .attr("view")(tensors_.dtype(tensor.dtype));
    }
  if (!all) all = tensors_.wrap(row).attr("to")(device_, py::arg("copy") = true);
  py::tuple sizes(tensor.ndim), strides(tensor.ndim);
  for (int d = 0; d < tensor.ndim; ++d) {
    sizes[static_cast<std::size_t>(d)] = tensor.shape[d];
    strides[static_cast<std::size_t>(d)] = tensor.strides[d];
  }
  return all.attr("as_strided")(sizes, strides, all.attr("storage_offset")());
}

py::object TorchDevice::zeros(const assay_tensor& tensor) const {
  return tensors_.zeros(tensor).attr("to")(device_);
}

py::object TorchDevice::with_copies(const py::object& call, const py::tuple& to) const {
  return python_["with_copies"](call, to);
}

// The functions of the table.
struct TorchTiming {
  template <class Work>
  static int guarded(assay_message message, const Work& work) {
    const py::gil_scoped_acquire gil;
    try {
      work(*last);
      return 0;
    } catch (const py::error_already_set& error) {
      say(message, what(error).c_str());
    } catch (const std::exception& error) {
      say(message, error.what());
    }
    return 1;
  }

  static const char* device(assay_message message) {
    if (const char* const why = TorchDevice::missing()) {
      say(message, why);
      return nullptr;
    }
    static std::string title;
    return guarded(message, [](TorchDevice& d) { title = py::str(d.python_["title"]()); }) == 0
               ? title.c_str()
               : nullptr;
  }
  static std::uint64_t cache_bytes() {
    std::uint64_t bytes = 0;
    guarded({nullptr, 0}, [&](TorchDevice& d) { bytes = d.python_["cache_bytes"]().cast<std::uint64_t>(); });
    return bytes;
  }

  static int hold(const assay_memory* memory, std::uint32_t count, std::uint32_t copies,
                  assay_message message) {
    return guarded(message, [&](TorchDevice& d) {
      release_all(d);
      for (std::uint32_t i = 0; i < count; ++i) {
        if (memory[i].bytes == 0) continue;
        auto size = static_cast<std::int64_t>(memory[i].bytes);
        std::int64_t stride = 1;
        assay_tensor bytes{};
        bytes.data = memory[i].data;
        bytes.device.type = ASSAY_CPU;
        bytes.ndim = 1;
        bytes.dtype = {ASSAY_UINT, 8, 1};
        bytes.shape = &size;
        bytes.strides = &stride;
        TorchDevice::Piece piece{static_cast<const std::byte*>(memory[i].data), memory[i].bytes, {}};
        for (std::uint32_t k = 0; k < copies; ++k)
          piece.copies.push_back(d.tensors_.wrap(bytes).attr("to")(d.device_, py::arg("copy") = true));
        d.pieces_.push_back(std::move(piece));
      }
      d.python_["wait"]();
    });
  }

  static int time(const assay_call* call, std::uint32_t calls, double* ns, assay_message message) {
    return guarded(message, [&](TorchDevice& d) {
      const std::size_t copies = d.pieces_.empty() ? 1 : d.pieces_[0].copies.size();
      py::list list;
      for (std::uint32_t k = 0; k < calls; ++k) {
        d.copy_ = (d.copy_ + 1) % copies;
        py::object& one = d.prepared_[{call, d.copy_}];
        if (!one) one = call_on_device(*call);
        list.append(one);
      }
      const py::tuple measured = d.python_["measured"](list, copies > 1);
      *ns = measured[0].cast<double>();
      d.result_ = measured[1];
      d.called_ = call;
    });
  }

  static int fetch(const assay_memory* /*memory*/, std::uint32_t /*count*/, assay_message message) {
    return guarded(message, [&](TorchDevice& d) {
      if (d.called_ == nullptr) throw std::runtime_error("nothing was timed");
      if (store_results(d.result_, d.called_) != ASSAY_OK)
        throw std::runtime_error(d.called_->message_capacity != 0 ? d.called_->message
                                                                  : "a result cannot be stored");
    });
  }

  static void release_all(TorchDevice& d) {
    d.pieces_.clear();
    d.prepared_.clear();
    d.result_ = py::object();
    d.called_ = nullptr;
    d.copy_ = 0;
  }
  static void release() { guarded({nullptr, 0}, release_all); }

  static int stream(std::uint64_t read, std::uint64_t written, std::uint32_t copies, std::uint32_t calls,
                    double* ns, assay_message message) {
    return guarded(message, [&](TorchDevice& d) {
      *ns = d.python_["stream"](read, written, copies, calls).cast<double>();
    });
  }
  static int arithmetic(assay_arithmetic which, double wanted, double* done, double* ns,
                        assay_message message) {
    return guarded(message, [&](TorchDevice& d) {
      const char* const dtype = which == ASSAY_FMA_F32   ? "float32"
                                : which == ASSAY_FMA_F64 ? "float64"
                                                         : "bfloat16";
      const py::tuple measured = d.python_["arithmetic"](dtype, wanted);
      *done = measured[0].cast<double>();
      *ns = measured[1].cast<double>();
    });
  }
};

const assay_device_timing* TorchDevice::timing() {
  static constexpr std::uint32_t kMostCalls = 128;
  static constexpr assay_device_timing kTable{.size = sizeof(assay_device_timing),
                                              .most_calls = kMostCalls,
                                              .device = TorchTiming::device,
                                              .cache_bytes = TorchTiming::cache_bytes,
                                              .hold = TorchTiming::hold,
                                              .time = TorchTiming::time,
                                              .fetch = TorchTiming::fetch,
                                              .release = TorchTiming::release,
                                              .stream = TorchTiming::stream,
                                              .arithmetic = TorchTiming::arithmetic};
  return last == nullptr ? nullptr : &kTable;
}

}  // namespace assay::oracle
