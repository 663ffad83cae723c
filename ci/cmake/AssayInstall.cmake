# What `cmake --install` puts below its prefix, and the Python package into its folder; harness/registry/installed.h says where the
# program looks for it. Parts that were not built are left out.
#
#   bin/assay, bin/assay-torch          lib/assay/libassay_cpu_plugin.so and other parts
#   share/assay/                        what the program reads and runs, by its path in the source tree
#   include/assay/kernel.h              lib/cmake/assay/, lib/pkgconfig/assay.pc: for those who build kernels
#
# Not CMAKE_INSTALL_LIBDIR: the program finds its files by paths from its own place, whatever the machine calls lib.
include(CMakePackageConfigHelpers)

set(share share/assay)
foreach(target ${installed})
  assay_of_wheel(${target})
  set(libraries lib/assay)
  if(target STREQUAL "assay_worker")
    set(libraries bin)  # with which an interpreter runs kernels: beside the program
  endif()
  install(TARGETS ${target} RUNTIME DESTINATION bin LIBRARY DESTINATION ${libraries} OPTIONAL)
endforeach()

set(beside PATTERN __pycache__ EXCLUDE PATTERN test EXCLUDE)
if(ASSAY_WHEEL)
  list(APPEND beside PATTERN assay EXCLUDE)  # which is what all of this is put into
endif()
install(DIRECTORY harness/python DESTINATION ${share}/harness FILES_MATCHING PATTERN *.py ${beside})
install(DIRECTORY cases/shapes DESTINATION ${share}/cases FILES_MATCHING PATTERN *.txt)
if(TARGET assay_torch)
  install(FILES cases/fixtures/opinfo.py cases/fixtures/make.py DESTINATION ${share}/cases/fixtures)
endif()

# Whose code is in the package: what Debian says of each library that the program is built with, and of those that they need.
if(ASSAY_WHEEL)
  file(STRINGS ci/packages.txt lines REGEX "^run ")
  list(TRANSFORM lines REPLACE "^run +([^ ]+).*" "\\1" OUTPUT_VARIABLE packages)
  foreach(package ${packages} libaec-dev libbz2-1.0 libgomp1)
    if(EXISTS /usr/share/doc/${package}/copyright AND package MATCHES "^(lib|nlohmann|zlib)" AND NOT package MATCHES "dnnl|openblas")
      install(FILES /usr/share/doc/${package}/copyright RENAME ${package}.txt DESTINATION ${share}/licences)
    endif()
  endforeach()
endif()

install(DIRECTORY cases/vocabulary/assay DESTINATION include FILES_MATCHING PATTERN *.h)
set(package ${PROJECT_BINARY_DIR}/package)
configure_package_config_file(ci/package/assay-config.cmake.in ${package}/assay-config.cmake INSTALL_DESTINATION lib/cmake/assay
                              NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${package}/assay-config-version.cmake COMPATIBILITY SameMajorVersion)
configure_file(ci/package/assay.pc.in ${package}/assay.pc @ONLY)
install(FILES ${package}/assay-config.cmake ${package}/assay-config-version.cmake DESTINATION lib/cmake/assay)
install(FILES ${package}/assay.pc DESTINATION lib/pkgconfig)
