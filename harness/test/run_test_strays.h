// Kernels of run_test_worker.cpp that read or write memory that is not theirs: beside their tensors, in their inputs, or in what harness and
// worker share.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "harness/run/protocol.h"
#include "run_test_kernels.h"

namespace assay::test {

// Reads and writes that the compiler must not drop, and that a sanitizer of this program does not know about.
inline char peek(const void* at) {
  char c;
  __asm__ volatile("movb (%1), %0" : "=r"(c) : "r"(at) : "memory");
  return c;
}
inline void poke(void* at, char c) { __asm__ volatile("movb %1, (%0)" : : "r"(at), "r"(c) : "memory"); }

inline char* start_of(const assay_tensor& t) { return static_cast<char*>(t.data); }
inline char* end_of(const assay_tensor& t) { return start_of(t) + numel(t) * 4; }

template <int distance>  // bytes past the end if positive, before the start if negative
int read_outside(const assay_call* call) {
  peek(distance > 0 ? end_of(input(call)) + distance - 1 : start_of(input(call)) + distance);
  return twice(call);
}
template <int distance>
int write_outside(const assay_call* call) {
  twice(call);
  poke(distance > 0 ? end_of(*call->outputs[0]) + distance - 1 : start_of(*call->outputs[0]) + distance, 0);
  return ASSAY_OK;
}

inline bool is_run_b(const assay_call* call) {  // buffers start at a page
  return reinterpret_cast<std::uintptr_t>(in(call)) % 4096 == 0;
}
// On the side where no guard page is in this run.
inline int write_before_in_a(const assay_call* call) {
  return is_run_b(call) ? twice(call) : write_outside<-2>(call);
}
inline int write_past_in_b(const assay_call* call) {
  return is_run_b(call) ? write_outside<2>(call) : twice(call);
}

inline int write_gap(const assay_call* call) {
  twice(call);
  poke(out(call) + 1, 0);  // the outputs have a step of two
  return ASSAY_OK;
}
inline int write_input(const assay_call* call) {
  if (numel(input(call)) > 3) poke(in(call) + 3, 0);
  return twice(call);
}
inline int write_input_same(const assay_call* call) {
  if (numel(input(call)) > 3) poke(in(call) + 3, peek(in(call) + 3));
  return twice(call);
}
inline int write_shape(const assay_call* call) {
  twice(call);
  poke(input(call).shape, 1);
  return ASSAY_OK;
}
inline int forget_last(const assay_call* call) {
  const std::int64_t n = numel(input(call));
  for (std::int64_t i = 0; i + 1 < n; ++i) out(call)[i] = 2 * in(call)[i];
  return ASSAY_OK;
}

inline int shrinks_files(const assay_call*) {
  for (int file = 3; file < 100; ++file)
    if (ftruncate(file, 0) != 0) continue;
  return ASSAY_OK;
}
// 0xff everywhere that it may write in what it shares with the harness.
inline int scribbles(const assay_call*) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char access[8] = {};
    if (line.find("assay-arena") == std::string::npos) continue;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, access) == 3 && access[1] == 'w')
      std::memset(reinterpret_cast<void*>(begin), 0xff, end - begin);
  }
  return ASSAY_OK;
}

// What a stray write may hit: the start of a file that harness and worker share.
template <class T>
T& shared(const char* name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(name) != std::string::npos && line.find(" 00000000 ") != std::string::npos)
      return *reinterpret_cast<T*>(std::stoull(line, nullptr, 16));
  std::abort();
}
inline int rings_for_ever(const assay_call*) {
  auto& bell = shared<Bell>("assay-bell");
  for (;;) bell.rings.fetch_add(1);
}
inline int overwrites_the_count(const assay_call* call) {
  shared<Control>("assay-arena").done.fetch_add(7);
  return twice(call);
}

}  // namespace assay::test
