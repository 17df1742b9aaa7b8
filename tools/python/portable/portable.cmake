# A wheel that runs from glibc 2.28 on, with no library beside glibc: the part of
# OpenMP that GCC's code calls, and what GCC's own libraries take from a newer
# glibc, are linked into each of its files. ../build_wheel.sh asks for it.

set(portable_folder ${CMAKE_CURRENT_LIST_DIR})
# Whoever looks for libgomp finds an archive of nothing: what openmp_runtime.cpp
# lacks does not link.
set(OpenMP_gomp_LIBRARY ${PROJECT_BINARY_DIR}/libno_gomp.a)
file(WRITE ${OpenMP_gomp_LIBRARY} "!<arch>\n")
# What nobody calls is left out of each file.
add_compile_options(
  "$<$<COMPILE_LANGUAGE:C,CXX>:-ffunction-sections;-fdata-sections>")
# Empty since glibc 2.34; before, they have what is in libc now.
set(older_libraries "")
foreach(name libpthread.so.0 libdl.so.2 librt.so.1)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND older_libraries ${path})
endforeach()
list(POP_BACK older_libraries librt)
add_library(zeroulp_portable OBJECT
  ${portable_folder}/openmp_runtime.cpp ${portable_folder}/glibc.cpp)
add_library(zeroulp_portable_start OBJECT ${portable_folder}/program_start.cpp)
add_library(zeroulp_portable_cuda OBJECT ${portable_folder}/glibc_of_cuda.cpp)
set_target_properties(zeroulp_portable zeroulp_portable_start
  zeroulp_portable_cuda PROPERTIES
  CXX_STANDARD 20
  POSITION_INDEPENDENT_CODE ON
  CXX_VISIBILITY_PRESET hidden)

# zeroulp_make_portable(TARGET): a shared library or a program.
function(zeroulp_make_portable target)
  target_link_libraries(${target} PRIVATE zeroulp_portable
    -Wl,--no-as-needed ${older_libraries} -Wl,--as-needed)
  if(target STREQUAL zeroulp_cuda_shared)
    target_link_libraries(${target} PRIVATE zeroulp_portable_cuda
      -Wl,--no-as-needed ${librt} -Wl,--as-needed)
  endif()
  # Threads of a region may wait in it until the process ends.
  target_link_options(${target} PRIVATE
    -static-libstdc++ -static-libgcc LINKER:-z,nodelete LINKER:--gc-sections)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)  # libraries have maps of what they export
    target_link_libraries(${target} PRIVATE zeroulp_portable_start)
    target_link_options(${target} PRIVATE LINKER:--exclude-libs,ALL)
  endif()
endfunction()
