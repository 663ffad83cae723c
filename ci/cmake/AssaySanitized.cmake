# What builds under sanitizers compile and test: not everything once more, but what only they find.
#
#   assay_of_stems(list OPERATORS|KERNELS)  takes out of a list of sources those of operators (cases/ops/STEM.h) that ASSAY_OPERATORS,
#                                           or for kernels ASSAY_KERNELS, does not name; what several operators share stays
#   assay_sanitized(thread|address ...)     before assay_tests(): which tests of the calling folder this sanitizer is for
#     FILES file... | WITHOUT_FILES file...      only these, or not these, of the files test/FILE_test.cpp are compiled
#     TESTS test... WITHOUT_TESTS test...        only these, but not those: the others get the label `unsanitized`, which the
#                                                presets leave out; gtest's names and patterns
#
# The thread sanitizer is for what has threads: folders that name none of their files have no tests there.
set(ASSAY_OPERATORS "" CACHE STRING "Build these operators alone: a regular expression on their stems; empty: all")
set(ASSAY_KERNELS "${ASSAY_OPERATORS}" CACHE STRING "Build our kernels of these operators alone; empty: all")

function(assay_of_stems list which)
  if(ASSAY_${which} STREQUAL "")
    return()
  endif()
  file(GLOB headers ${PROJECT_SOURCE_DIR}/cases/ops/*.h)
  set(kept "")
  foreach(source ${${list}})
    cmake_path(GET source STEM name)
    set(of "")
    foreach(header ${headers})
      cmake_path(GET header STEM stem)
      string(LENGTH "${stem}" length)
      string(LENGTH "${of}" longest)
      if("${name}_" MATCHES "^${stem}_" AND length GREATER longest)
        set(of ${stem})
      endif()
    endforeach()
    if(of STREQUAL "" OR of MATCHES "^(${ASSAY_${which}})$")
      list(APPEND kept ${source})
    endif()
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

set(ASSAY_SANITIZER "")
if(ASSAY_SANITIZE MATCHES "(thread|address)")
  set(ASSAY_SANITIZER ${CMAKE_MATCH_1})
endif()

function(assay_sanitized sanitizer)
  if(NOT sanitizer STREQUAL ASSAY_SANITIZER)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "FILES;WITHOUT_FILES;TESTS;WITHOUT_TESTS")
  foreach(word FILES WITHOUT_FILES TESTS WITHOUT_TESTS)
    set(ASSAY_SANITIZED_${word} ${ARG_${word}} PARENT_SCOPE)
  endforeach()
endfunction()

# assay_sanitized_files(list): what assay_sanitized() leaves of a folder's test files.
function(assay_sanitized_files list)
  if(ASSAY_SANITIZER STREQUAL "")
    return()
  endif()
  set(named ${ASSAY_SANITIZED_FILES} ${ASSAY_SANITIZED_WITHOUT_FILES})
  set(kept "")
  foreach(source ${${list}})
    cmake_path(GET source STEM name)
    string(REGEX REPLACE "_test$" "" name ${name})
    set(is_named OFF)
    if(name IN_LIST named)
      set(is_named ON)
      list(REMOVE_ITEM named ${name})
    endif()
    if((ASSAY_SANITIZED_FILES AND is_named) OR (NOT ASSAY_SANITIZED_FILES AND NOT is_named AND NOT ASSAY_SANITIZER STREQUAL "thread"))
      list(APPEND kept ${source})
    endif()
  endforeach()
  if(named)
    message(FATAL_ERROR "assay_sanitized() in ${CMAKE_CURRENT_SOURCE_DIR} names test files that are not there: ${named}")
  endif()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

# assay_discover(name): gtest_discover_tests(), with the label. WITHOUT_TESTS may be part of TESTS: "POSITIVE-NEGATIVE" is gtest's filter.
# Tests that ASSAY_APART names get the properties ASSAY_APART_PROPERTIES besides; without a sanitizer alone.
function(assay_discover name)
  string(JOIN ":" only ${ASSAY_SANITIZED_TESTS})
  string(JOIN ":" without ${ASSAY_SANITIZED_WITHOUT_TESTS})
  set(chosen "*")
  if(NOT only STREQUAL "")
    set(chosen ${only})
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "-${only}" TEST_LIST ${name}_others PROPERTIES LABELS unsanitized)
  endif()
  if(NOT without STREQUAL "")
    set(chosen "${chosen}-${without}")
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "${without}" TEST_LIST ${name}_without PROPERTIES LABELS unsanitized)
  endif()
  if(ASSAY_APART AND ASSAY_SANITIZER STREQUAL "")
    string(JOIN ":" apart ${ASSAY_APART})
    set(chosen "*-${apart}")
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "${apart}" TEST_LIST ${name}_apart
                         PROPERTIES TIMEOUT 600 ${ASSAY_APART_PROPERTIES})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "${chosen}" PROPERTIES TIMEOUT 600)
endfunction()
