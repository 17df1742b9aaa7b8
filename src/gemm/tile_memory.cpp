#include <pthread.h>

#include <memory>
#include <new>

#include "src/gemm/multiplication.hpp"

namespace zeroulp {
namespace {

/// Frees what a thread computed in when it ends. A destructor of a thread_local
/// would, too, but glibc takes memory to register it, and ends the process
/// where there is none.
pthread_key_t memory_of_thread() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    const auto free = [](void* of) { delete static_cast<tile_memory*>(of); };
    if (pthread_key_create(&made, free) != 0) throw std::bad_alloc();
    return made;
  }();
  return key;
}

}  // namespace

tile_memory& memory() {
  static thread_local tile_memory* here = nullptr;
  if (here == nullptr) {
    auto made = std::make_unique<tile_memory>();
    if (pthread_setspecific(memory_of_thread(), made.get()) != 0) {
      throw std::bad_alloc();
    }
    here = made.release();
  }
  return *here;
}

}  // namespace zeroulp
