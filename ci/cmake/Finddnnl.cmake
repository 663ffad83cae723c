# oneDNN: DNNL::dnnl, dnnl_FOUND, dnnl_VERSION. Debian's own package file insists on OpenCL's headers, which the CPU
# interface does not need.
find_path(dnnl_INCLUDE_DIR dnnl.hpp PATH_SUFFIXES oneapi/dnnl)
find_library(dnnl_LIBRARY dnnl)
find_file(dnnl_VERSION_FILE dnnl_version.h PATHS ${dnnl_INCLUDE_DIR} ${dnnl_INCLUDE_DIR}/oneapi/dnnl
          PATH_SUFFIXES oneapi/dnnl)
mark_as_advanced(dnnl_INCLUDE_DIR dnnl_LIBRARY dnnl_VERSION_FILE)
if(dnnl_VERSION_FILE)
  file(STRINGS ${dnnl_VERSION_FILE} lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
  string(REGEX REPLACE "[^0-9;]*([0-9]+)" "\\1" numbers "${lines}")
  string(REPLACE ";" "." dnnl_VERSION "${numbers}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(dnnl REQUIRED_VARS dnnl_LIBRARY dnnl_INCLUDE_DIR VERSION_VAR dnnl_VERSION)
if(dnnl_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${dnnl_LIBRARY}
                                              INTERFACE_INCLUDE_DIRECTORIES ${dnnl_INCLUDE_DIR})
endif()
