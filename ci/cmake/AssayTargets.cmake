# What every target of Assay shares.
#
#   assay_target(name)                         flags, include paths, warnings
#   assay_tests(name LIBRARIES lib...)         one test program from test/*_test.cpp of the calling folder
#   assay_compiled_as_released()               for the calling folder: its libraries are the same in dev and release
#   assay_unoptimised_under_sanitizers()       for the calling folder, whose libraries take GCC minutes there

# Results must not depend on which multiply-adds a compiler fuses: kernels ask for fused ones by name.
set(ASSAY_FLAGS -ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(ASSAY_WERROR)
  list(APPEND ASSAY_FLAGS -Werror)
endif()
if(ASSAY_SANITIZE)
  add_compile_options(-fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ASSAY_SANITIZE})
endif()

# The tests then look at the code that people get, and ccache has it for the release build: half of that build's time.
# Without -Werror, which would be the only difference; ci/test looks for warnings instead.
set(ASSAY_AS_RELEASED OFF)
macro(assay_compiled_as_released)
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT ASSAY_SANITIZE)
    set(ASSAY_AS_RELEASED ON)
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELEASE}")
    list(REMOVE_ITEM ASSAY_FLAGS -Werror)
  endif()
endmacro()

# Optimising what AddressSanitizer and UndefinedBehaviorSanitizer put into code that is inlined as deeply as Highway's
# takes thirty times as long as compiling it without: softmax.cpp 220 s and 7 s.
macro(assay_unoptimised_under_sanitizers)
  if(ASSAY_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(ASSAY_FLAGS ${ASSAY_FLAGS} -O0)
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
  list(REMOVE_ITEM ASSAY_FLAGS -O0)
  assay_target(${name})
  if(ASSAY_AS_RELEASED)
    target_compile_options(${name} PRIVATE -UNDEBUG -O2 -g -D_GLIBCXX_ASSERTIONS -Werror)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
