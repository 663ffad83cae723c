# ASSAY_WHEEL: a program for the Python package, which runs on Linux machines that have nothing of what it was built with.
#
#   assay_hdf5_of_wheel()   after find_package(HDF5)
#   assay_of_wheel(name)    of a program or library of the package: it starts where glibc is 2.34
#
# It has our kernels for the processor, and no other libraries' and no PyTorch's worker. The shared libraries that are left,
# ci/package/backend.py puts into the package. HDF5 is linked statically: Debian's shared one needs curl, and with it 30 libraries more. It
# is not position-independent, so only a program can have it: assay_worker must not call it.
option(ASSAY_WHEEL "Build what the Python package has (pyproject.toml), and nothing else" OFF)
set(ASSAY_WHEEL_LIBRARIES "" CACHE PATH "Where ci/package/portable.py has put its copies of libraries")

if(ASSAY_WHEEL)
  set(ASSAY_TESTS OFF)
  set(ASSAY_CUDA OFF)
  foreach(package dnnl pybind11 GTest)
    set(CMAKE_DISABLE_FIND_PACKAGE_${package} ON)
  endforeach()
  set(ASSAY_OPENBLAS_LIBRARY "")
  set(HDF5_USE_STATIC_LIBRARIES ON)
  if(ASSAY_WHEEL_LIBRARIES)
    file(GLOB ZLIB_LIBRARY ${ASSAY_WHEEL_LIBRARIES}/libz_*)
  endif()
  add_link_options(-Wl,--as-needed)
endif()

macro(assay_hdf5_of_wheel)
  if(ASSAY_WHEEL)
    find_package(ZLIB REQUIRED)
    find_library(ASSAY_HDF5_ARCHIVE libhdf5.a HINTS ${HDF5_LIBRARY_DIRS} PATH_SUFFIXES hdf5/serial REQUIRED)
    find_library(ASSAY_SZ_ARCHIVE libsz.a REQUIRED)
    find_library(ASSAY_AEC_ARCHIVE libaec.a REQUIRED)
    set(HDF5_LIBRARIES ${ASSAY_HDF5_ARCHIVE} ${ASSAY_SZ_ARCHIVE} ${ASSAY_AEC_ARCHIVE} ZLIB::ZLIB OpenSSL::Crypto dl m)
  endif()
endmacro()

function(assay_of_wheel name)
  if(ASSAY_WHEEL)
    if(NOT TARGET assay_first_hypot)
      add_library(assay_first_hypot OBJECT ${PROJECT_SOURCE_DIR}/ci/package/hypot.c)
    endif()
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:assay_first_hypot>)
    target_link_options(${name} PRIVATE -Wl,--wrap=hypot)
  endif()
endfunction()
