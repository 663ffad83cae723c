# What every target of Assay shares.
#
#   assay_target(name)                         flags, include paths, warnings; released with -O2
#   assay_tests(name [OPTIMISED] [FIRST lib...] LIBRARIES lib...)
#                                              one test program from test/*_test.cpp of the calling folder; OPTIMISED
#                                              if it computes so much that this pays for the compiler's time; FIRST: static libraries
#                                              whose code it shall run as they have it. The target `tests` builds all of them.
#                                              AssaySanitized.cmake: which of them sanitizers run
#   assay_compiled_as_released()               for the calling folder: its libraries are the same in dev and release
#   assay_precompile(name header...)           beside the standard library's
#   assay_join(name)                           its sources of one folder as one, where ASSAY_JOIN asks for it
#   assay_compile_leanly(name)                 of what is -O2: without passes that cost a tenth of the compiler's time and gain no speed
#   assay_compile_quickly(name)                -Og: of what runs once for each command, the compiler's time is all that counts

# Results must not depend on which multiply-adds a compiler fuses: kernels ask for fused ones by name.
set(ASSAY_FLAGS -ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(ASSAY_WERROR)
  list(APPEND ASSAY_FLAGS -Werror)
endif()
if(ASSAY_SANITIZE)
  add_compile_options(-fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(ASSAY_SANITIZE_WITHOUT)
    add_compile_options(-fno-sanitize=${ASSAY_SANITIZE_WITHOUT})
  endif()
  add_link_options(-fsanitize=${ASSAY_SANITIZE})
  add_compile_definitions(ASSAY_SANITIZED)
  foreach(sanitizer address thread)  # each compiler has another way to ask
    if(ASSAY_SANITIZE MATCHES ${sanitizer})
      string(TOUPPER ${sanitizer} upper)
      add_compile_definitions(ASSAY_SANITIZE_${upper})
    endif()
  endforeach()
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

# Reading headers is half of what a compiler does with a short source. Each source must stand without them, too: ci/nightly
# builds with this option off, and without joining. Headers are named in <>, so that checkouts share what ccache has of them.
option(ASSAY_PRECOMPILED_HEADERS "Precompile headers" ON)
function(assay_precompile name)
  if(NOT ASSAY_PRECOMPILED_HEADERS)
    return()
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <chrono> <cmath> <filesystem> <functional> <map> <memory> <optional> <random> <set> <span>
    <sstream> <string> <vector> <fmt/format.h> ${ARGN})
endfunction()

# Halves the compiler's time: headers are read once for several sources, and what they instantiate is made once. OFF in the
# preset dev, for people who compile one source again and again.
set(ASSAY_JOIN ON CACHE STRING "Compile sources of one folder together, up to 24, of tests 8: ON, OFF, or TESTS for theirs alone")
function(assay_join name)
  if(NOT ASSAY_JOIN OR (ASSAY_JOIN STREQUAL "TESTS" AND NOT name MATCHES "_test$"))
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A neighbour's constant is shadowed by accident of joining; of locals that shadow each other gcc warns here, too.
  target_compile_options(${name} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
  set(most 24)
  if(name MATCHES "_test$")
    set(most 8)
  endif()
  get_target_property(sources ${name} SOURCES)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    list(APPEND folders ${folder})
    list(APPEND of_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})  # in parts of about the same size
    list(LENGTH of_${folder} count)
    math(EXPR parts "(${count} + ${most} - 1) / ${most}")
    set(number 0)
    foreach(source ${of_${folder}})
      math(EXPR part "${number} * ${parts} / ${count}")
      math(EXPR number "${number} + 1")
      set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${folder}_${part})
    endforeach()
  endforeach()
endfunction()

function(assay_compile_leanly name)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" OR ASSAY_AS_RELEASED)
    foreach(pass tree-pre gcse thread-jumps tree-dominator-opts schedule-insns2)
      target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-${pass}>)
    endforeach()
    # Without those passes the cold part of a function may come out empty, and then hides the unwind table of the one that lies in its
    # place: an exception thrown there ends the program.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-reorder-blocks-and-partition>)
  endif()
endfunction()

function(assay_compile_quickly name)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" OR ASSAY_AS_RELEASED)
    target_compile_options(${name} PRIVATE -Og)
  endif()
endfunction()

function(assay_target name)
  target_compile_options(${name} PRIVATE ${ASSAY_FLAGS})
  if(CMAKE_BUILD_TYPE STREQUAL "Release" OR ASSAY_AS_RELEASED)
    target_compile_options(${name} PRIVATE -O2)  # a fifth of the compiler's time less than -O3, for the same speed
  endif()
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/cases ${PROJECT_SOURCE_DIR}/cases/vocabulary)
endfunction()

function(assay_tests name)
  if(NOT ASSAY_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "OPTIMISED" "" "FIRST;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test/*_test.cpp)
  assay_sanitized_files(sources)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  assay_test_program(${name})
  assay_target(${name})
  if(ASSAY_AS_RELEASED)
    target_compile_options(${name} PRIVATE -UNDEBUG -D_GLIBCXX_ASSERTIONS -Werror
                                           $<IF:$<BOOL:${ARG_OPTIMISED}>,-O2,-O0> -g1)
  endif()
  assay_precompile(${name} <gtest/gtest.h> <gmock/gmock.h>)
  assay_join(${name})
  if(ASSAY_AS_RELEASED AND NOT ARG_OPTIMISED)
    # Of a template that is instantiated in many places the linker takes the first: not that of tests, which are not optimised, and
    # would make maps and strings of the libraries two to three times as slow.
    foreach(library ${ARG_FIRST})
      target_link_options(${name} PRIVATE "LINKER:--whole-archive,$<TARGET_FILE:${library}>,--no-whole-archive")
    endforeach()
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_FIRST} ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  assay_discover(${name})
endfunction()

# assay_test_program(name): one that the target `tests` builds.
function(assay_test_program name)
  if(NOT TARGET tests)
    add_custom_target(tests)
  endif()
  add_dependencies(tests ${name})
endfunction()
