# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# libproofmill-supraseal: the C interface between bellperson and supraseal-c2, in its two
# generations that share names. Made of what the public header offers.
file(GLOB supraseal_sources CONFIGURE_DEPENDS shim/supraseal_*.c)
list(FILTER supraseal_sources EXCLUDE REGEX "supraseal_(upstream|curio)\\.c$")
add_library(pm_supraseal OBJECT ${supraseal_sources})
target_link_libraries(pm_supraseal PRIVATE pm_flags)
target_compile_definitions(pm_supraseal PRIVATE PM_BUILDING_LIBRARY)

# pm_add_supraseal(<flavour> <library name>)
function(pm_add_supraseal flavour name)
    add_library(pm_supraseal_${flavour} OBJECT shim/supraseal_${flavour}.c)
    target_link_libraries(pm_supraseal_${flavour} PRIVATE pm_flags)
    target_compile_definitions(pm_supraseal_${flavour} PRIVATE PM_BUILDING_LIBRARY)
    set(objects $<TARGET_OBJECTS:pm_supraseal> $<TARGET_OBJECTS:pm_supraseal_${flavour}>)

    add_library(proofmill_supraseal_${flavour}_static STATIC ${objects})
    set_target_properties(proofmill_supraseal_${flavour}_static PROPERTIES OUTPUT_NAME ${name})
    target_link_libraries(proofmill_supraseal_${flavour}_static PUBLIC proofmill_static)

    set(map ${CMAKE_CURRENT_SOURCE_DIR}/shim/supraseal_${flavour}.map)
    add_library(proofmill_supraseal_${flavour}_shared SHARED ${objects})
    set_target_properties(proofmill_supraseal_${flavour}_shared PROPERTIES OUTPUT_NAME ${name}
                          VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${map}
                          INSTALL_RPATH "$ORIGIN")
    target_link_libraries(proofmill_supraseal_${flavour}_shared PRIVATE proofmill_shared)
    target_link_options(proofmill_supraseal_${flavour}_shared PRIVATE
                        LINKER:--version-script=${map})
    if(NOT PM_SANITIZE)
        target_link_options(proofmill_supraseal_${flavour}_shared PRIVATE LINKER:--no-undefined)
    endif()
    if(PM_SANITIZE)
        foreach(kind IN ITEMS static shared)
            target_link_options(proofmill_supraseal_${flavour}_${kind} PUBLIC
                                -fsanitize=${PM_SANITIZE})
        endforeach()
    endif()
endfunction()
pm_add_supraseal(upstream proofmill-supraseal)
pm_add_supraseal(curio proofmill-supraseal-curio)
