# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Instructions counted by valgrind's callgrind, beside those in instructions.txt. They are of one
# compiler, optimised, and of portable arithmetic: valgrind knows neither ADX nor AVX-512.
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
if(NOT PM_SANITIZE AND NOT CMAKE_CROSSCOMPILING AND build_type STREQUAL RELEASE
   AND CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    add_executable(instruction_probe perf/instruction_probe.c)
    target_link_libraries(instruction_probe PRIVATE pm_flags proofmill_static)
    set(check_instructions
        ${CMAKE_CURRENT_SOURCE_DIR}/perf/check_instructions.py $<TARGET_FILE:instruction_probe>
        ${CMAKE_CURRENT_SOURCE_DIR} "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
    add_test(NAME perf/check_instructions COMMAND ${check_instructions})
    set_tests_properties(perf/check_instructions PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
    add_custom_target(record_instructions COMMAND ${check_instructions} --record
                      DEPENDS instruction_probe VERBATIM)
endif()
