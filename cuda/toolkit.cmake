# Finds nvcc, also where its installer leaves it off the PATH, and enables CUDA.
# Sets ZEROULP_CUDA_INCLUDE_DIRS. Without nvcc everything else is built.

include(CheckLanguage)

find_program(ZEROULP_NVCC nvcc
  HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(ZEROULP_NVCC)
if(ZEROULP_NVCC AND NOT DEFINED ENV{CUDACXX})
  set(ENV{CUDACXX} ${ZEROULP_NVCC})
endif()

# sm_90a, the only architecture with wgmma, is given below.
set(CMAKE_CUDA_ARCHITECTURES OFF)
if(DEFINED ENV{CUDACXX} OR CMAKE_CUDA_COMPILER)
  check_language(CUDA)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "zeroulp: no nvcc, so no kernels, no GPU tests and no checks "
                 "against NVIDIA's headers")
  return()
endif()

enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(code sm_90a)
if(ZEROULP_QUICK_KERNELS)
  # PTX: to assemble it takes most of the time.
  set(code compute_90a)
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcicc -O1>")
  # Of the code for the host, too: it says that there is no GPU, and no more.
  string(REPLACE -O3 -O0 CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
endif()
add_compile_options(
  "$<$<COMPILE_LANGUAGE:CUDA>:-gencode=arch=compute_90a,code=${code}>")
# Since CUDA 13 a header that cuda_fp8.h needs lives one folder down.
set(ZEROULP_CUDA_INCLUDE_DIRS ${CUDAToolkit_INCLUDE_DIRS})
foreach(folder IN LISTS CUDAToolkit_INCLUDE_DIRS)
  if(EXISTS ${folder}/cccl)
    list(APPEND ZEROULP_CUDA_INCLUDE_DIRS ${folder}/cccl)
  endif()
endforeach()
