# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# What `cmake --install` puts where: the libraries, the public headers, the command, the daemon with
# its unit and protocol, scenarios for `simulate`, pkg-config and CMake package files, the licences.
include(CMakePackageConfigHelpers)

install(TARGETS proofmill_static proofmill_shared EXPORT proofmill-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/proofmill DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(PM_BUILD_CLI)
    install(TARGETS proofmill RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/scenarios
            DESTINATION ${CMAKE_INSTALL_DATADIR}/proofmill)
endif()
if(TARGET proofmilld)
    install(TARGETS proofmilld RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    # systemd looks below /usr and /usr/local alone: a unit elsewhere is for whoever links it.
    file(READ ${PROJECT_SOURCE_DIR}/packaging/proofmill.service unit)
    string(REPLACE /usr/bin/ ${CMAKE_INSTALL_FULL_BINDIR}/ unit "${unit}")
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/proofmill.service CONTENT "${unit}" @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/proofmill.service DESTINATION lib/systemd/system)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/proto DESTINATION ${CMAKE_INSTALL_DATADIR}/proofmill
            FILES_MATCHING PATTERN *.proto)
    install(FILES ${PROJECT_BINARY_DIR}/src/daemon/proofmill.protoset
            DESTINATION ${CMAKE_INSTALL_DATADIR}/proofmill)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE-APACHE ${PROJECT_SOURCE_DIR}/LICENSE-MIT
        ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Folders in proofmill.pc are relative to the file itself, so an installed tree may be moved and
# `cmake --install --prefix` may differ from what was configured. An absolute CMAKE_INSTALL_LIBDIR
# (distributions set it) is taken as it is.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    set(PM_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
    set(PM_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
else()
    file(RELATIVE_PATH pc_up /p/${pc_dir} /p)
    string(REGEX REPLACE "/$" "" pc_up ${pc_up})
    set(PM_PC_PREFIX "\${pcfiledir}/${pc_up}")
    set(PM_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    set(PM_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
else()
    set(PM_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(pc_names proofmill proofmill-supraseal proofmill-supraseal-curio)
foreach(flavour IN ITEMS upstream curio)
    install(TARGETS proofmill_supraseal_${flavour}_static proofmill_supraseal_${flavour}_shared
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
if(TARGET proofmill_rapidsnark_shared)
    install(TARGETS proofmill_rapidsnark_static proofmill_rapidsnark_shared
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    list(APPEND pc_names proofmill-rapidsnark)
endif()
if(TARGET proofmill_engine_shared)
    install(TARGETS proofmill_engine_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    list(APPEND pc_names proofmill-engine)
endif()
foreach(name IN LISTS pc_names)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir})
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/proofmill)
install(EXPORT proofmill-targets NAMESPACE proofmill:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/proofmill-config.cmake.in
                              ${PROJECT_BINARY_DIR}/proofmill-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/proofmill-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/proofmill-config.cmake
        ${PROJECT_BINARY_DIR}/proofmill-config-version.cmake DESTINATION ${package_dir})
