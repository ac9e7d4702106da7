# Install tree: find_package(fulcrum) and pkg-config fulcrum both give the front door and nothing else.
include(CMakePackageConfigHelpers)

set(fulcrum_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fulcrum)
install(TARGETS fulcrum EXPORT fulcrumTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/fulcrum DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/include/fulcrum/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fulcrum)
if(FULCRUM_BUILD_CLI)
  install(TARGETS fulcrum_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/fulcrum)
install(DIRECTORY data DESTINATION ${CMAKE_INSTALL_DATADIR}/fulcrum)
# The examples, and a project that builds them against what is installed: scripts/check_consumer.sh does.
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/fulcrum FILES_MATCHING PATTERN "*.cc")
install(FILES tests/consumer/CMakeLists.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/fulcrum/examples)
install(EXPORT fulcrumTargets NAMESPACE fulcrum:: DESTINATION ${fulcrum_config_dir})

# A static archive needs its private libraries at the consumer's link; a shared object brings its own.
get_target_property(fulcrum_type fulcrum TYPE)
set(fulcrum_private_libraries "-lyaml-cpp -lspdlog -lfmt -lxxhash -lpthread")
set(fulcrum_needs_uring FALSE)
if(uring_FOUND)
  set(fulcrum_needs_uring TRUE)
  string(APPEND fulcrum_private_libraries " -luring")
endif()
if(fulcrum_type STREQUAL "STATIC_LIBRARY")
  set(fulcrum_static TRUE)
  set(fulcrum_pc_libraries "-lfulcrum ${fulcrum_private_libraries}")
else()
  set(fulcrum_static FALSE)
  set(fulcrum_pc_libraries "-lfulcrum")
endif()

configure_package_config_file(cmake/fulcrumConfig.cmake.in ${PROJECT_BINARY_DIR}/fulcrumConfig.cmake
  INSTALL_DESTINATION ${fulcrum_config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fulcrumConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fulcrumConfig.cmake ${PROJECT_BINARY_DIR}/fulcrumConfigVersion.cmake
  DESTINATION ${fulcrum_config_dir})
configure_file(cmake/fulcrum.pc.in ${PROJECT_BINARY_DIR}/fulcrum.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fulcrum.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
