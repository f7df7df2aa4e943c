# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Everything that is specific to a curve is compiled once per (curve, body): the sources
# src/<layer>/*_instance.c say PM_INSTANCE_NAME(x) for names that leave the translation unit.

set(PM_CURVES bn254 bls12_381)
set(PM_BODIES portable)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    list(APPEND PM_BODIES adx ifma)
endif()

# pm_add_instance(<target> <curve> <body> <source>...): an object library of one instance.
function(pm_add_instance target curve body)
    add_library(${target} OBJECT ${ARGN})
    target_link_libraries(${target} PRIVATE pm_flags)
    string(TOUPPER ${curve} curve_upper)
    target_compile_definitions(${target} PRIVATE PM_INSTANCE_CURVE=${curve}
                               PM_INSTANCE_BODY=${body} PM_INSTANCE_${curve_upper}=1)
    if(body STREQUAL adx)
        target_compile_definitions(${target} PRIVATE PM_INSTANCE_ADX=1)
        target_compile_options(${target} PRIVATE -mbmi2 -madx)
    elseif(body STREQUAL ifma)
        target_compile_definitions(${target} PRIVATE PM_INSTANCE_ADX=1 PM_INSTANCE_IFMA=1)
        target_compile_options(${target} PRIVATE -mbmi2 -madx -mavx512f -mavx512ifma)
    endif()
endfunction()

# pm_add_instances(<prefix> <objects variable> <source>...): every curve in every body.
function(pm_add_instances prefix objects)
    set(all "")
    foreach(curve IN LISTS PM_CURVES)
        foreach(body IN LISTS PM_BODIES)
            pm_add_instance(${prefix}_${curve}_${body} ${curve} ${body} ${ARGN})
            list(APPEND all $<TARGET_OBJECTS:${prefix}_${curve}_${body}>)
        endforeach()
    endforeach()
    set(${objects} ${all} PARENT_SCOPE)
endfunction()
