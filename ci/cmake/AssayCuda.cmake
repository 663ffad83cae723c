# The CUDA Toolkit, if it is wanted and works: ASSAY_NVCC is ON then, and CUDA is a language.
#
# Looked for on the PATH, in CUDA_HOME, CUDA_PATH and /usr/local/cuda; CUDACXX and CMAKE_CUDA_COMPILER name it. What
# sanitizers and fuzzers look at has no kernels for GPUs.
set(ASSAY_NVCC OFF)
set(ASSAY_CUDA_SASS AUTO CACHE STRING "Assemble the kernels for compute capability 8.0 and 9.0 during the build, which takes a \
third of nvcc's time: ON, for who passes the build on to machines with GPUs; OFF: the GPU's driver does it when a kernel is \
first called, and keeps what it made in ~/.nv; or AUTO, ON where this machine has a GPU")
set(why "there is no nvcc on the PATH, in CUDA_HOME, CUDA_PATH or /usr/local/cuda")

if(CMAKE_CUDA_COMPILER AND IS_ABSOLUTE "${CMAKE_CUDA_COMPILER}" AND NOT EXISTS "${CMAKE_CUDA_COMPILER}")
  unset(CMAKE_CUDA_COMPILER CACHE)  # a toolkit that has gone since
endif()
if(NOT ASSAY_CUDA OR ASSAY_SANITIZE OR ASSAY_FUZZ)
  set(why "")
else()
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)  # one that was not found may be there by now
    if(NOT DEFINED ENV{CUDACXX})
      find_program(nvcc nvcc NO_CACHE NO_DEFAULT_PATH HINTS ENV PATH ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
                   PATH_SUFFIXES bin)
      if(nvcc)
        set(ENV{CUDACXX} "${nvcc}")  # not CMAKE_CUDA_COMPILER: then it would not be tried, and a broken one an error
      endif()
    endif()
  endif()
  # Compiled to PTX once, for 8.0, which the driver of any later GPU translates itself, and where that is asked for from there for
  # 8.0 and 9.0. It is this PTX that cuda.ptx interprets. CMAKE_CUDA_ARCHITECTURES asks for others.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES OR CMAKE_CUDA_ARCHITECTURES STREQUAL "OFF")
    set(CMAKE_CUDA_ARCHITECTURES OFF)
    set(code compute_80)
    if(ASSAY_CUDA_SASS STREQUAL "AUTO")
      if(EXISTS /dev/nvidiactl OR EXISTS /dev/dxg)
        set(code compute_80,sm_80,sm_90)
      endif()
    elseif(ASSAY_CUDA_SASS)
      set(code compute_80,sm_80,sm_90)
    endif()
    set(ASSAY_CUDA_CODE --generate-code=arch=compute_80,code=[${code}])
  endif()
  if(CMAKE_CUDA_COMPILER OR DEFINED ENV{CUDACXX})
    include(CheckLanguage)
    check_language(CUDA)
    set(why "$ENV{CUDACXX} does not work: see CMakeFiles/CMakeError.log")
  endif()
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
      set(why "${CMAKE_CUDA_COMPILER} is of CUDA ${CMAKE_CUDA_COMPILER_VERSION}, which has no C++20; 12.0 has")
    else()
      find_package(CUDAToolkit QUIET)
      set(why "the toolkit of ${CMAKE_CUDA_COMPILER} has no libcudart_static.a")
      if(TARGET CUDA::cudart_static)
        set(ASSAY_NVCC ON)
      endif()
    endif()
  endif()
endif()

if(ASSAY_NVCC)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  # Of the host's code, which does no more than launch kernels. Those are optimised in any case.
  string(REPLACE "-O3" "-O1" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # linked by name: what links our kernels is linked as C++
  if(ASSAY_CACHED AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${ASSAY_CACHED})
  endif()
else()
  if(ASSAY_CUDA STREQUAL "AUTO" AND why)
    message(STATUS "Without kernels for NVIDIA GPUs: ${why}")
  elseif(ASSAY_CUDA AND why)
    message(FATAL_ERROR "ASSAY_CUDA is ${ASSAY_CUDA}, but ${why}. ASSAY_CUDA=AUTO builds without kernels for GPUs.")
  endif()
  # For those who ask for these kernels (harness/registry/parts.h).
  set(ASSAY_NO_NVCC "${why}")
  if(NOT why)
    set(ASSAY_NO_NVCC "it was configured without kernels for GPUs")
  endif()
endif()
