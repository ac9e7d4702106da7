# The library that embedders link: the rooms behind include/fulcrum, as one archive or shared object.
set(fulcrum_library_rooms base model policy tiers engine)
set(fulcrum_objects "")
foreach(room IN LISTS fulcrum_library_rooms)
  list(APPEND fulcrum_objects $<TARGET_OBJECTS:fulcrum_${room}>)
endforeach()
add_library(fulcrum ${fulcrum_objects})
add_library(fulcrum::fulcrum ALIAS fulcrum)
set_target_properties(fulcrum PROPERTIES
  LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME fulcrum)
target_compile_features(fulcrum PUBLIC cxx_std_20)
target_include_directories(fulcrum PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(fulcrum PUBLIC Boost::headers PRIVATE Threads::Threads
  $<BUILD_INTERFACE:yaml-cpp> $<BUILD_INTERFACE:spdlog::spdlog> $<BUILD_INTERFACE:fulcrum_dep_xxhash>)
if(uring_FOUND)
  target_link_libraries(fulcrum PRIVATE $<BUILD_INTERFACE:fulcrum_dep_uring>)
endif()
