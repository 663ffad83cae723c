# What every target of Assay shares.
#
#   assay_target(name)                         flags, include paths, warnings
#   assay_tests(name LIBRARIES lib...)         one test program from test/*_test.cpp of the calling folder
#   assay_unoptimised_under_sanitizers()       for the calling folder, whose code takes GCC minutes there

# Results must not depend on which multiply-adds a compiler fuses: kernels ask for fused ones by name.
set(ASSAY_FLAGS -ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(ASSAY_WERROR)
  list(APPEND ASSAY_FLAGS -Werror)
endif()
if(ASSAY_SANITIZE)
  add_compile_options(-fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ASSAY_SANITIZE})
endif()

# Optimising what AddressSanitizer and UndefinedBehaviorSanitizer put into code that is inlined as deeply as Highway's
# takes thirty times as long as compiling it without: softmax.cpp 220 s and 7 s.
macro(assay_unoptimised_under_sanitizers)
  if(ASSAY_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-O0)
  endif()
endmacro()

function(assay_target name)
  target_compile_options(${name} PRIVATE ${ASSAY_FLAGS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/cases ${PROJECT_SOURCE_DIR}/cases/vocabulary)
endfunction()

function(assay_tests name)
  if(NOT ASSAY_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  assay_target(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
