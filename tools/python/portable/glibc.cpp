// What GCC 12's libraries and start files take from a glibc newer than 2.28, in
// its place, so that a wheel runs from 2.28 on (manylinux_2_28). Each is
// hidden: nobody else gets it.
//
// Sources: the manual pages of these functions; glibc's NEWS of 2.29 to 2.36;
// "dl_find_object" in the GNU C library's manual.

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

// Calls `name` as 2.28 has it, in libc, libm, libpthread or libdl. GCC's
// builtins are hidden by the assembler alone: visible, a program's would be
// found in place of the library's that it calls.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // the void* handed on
#define ZEROULP_OF_2_2_5(type, name, parameters, ...)       \
  asm(".hidden " #name);                                    \
  asm(".symver " #name "_of_2_2_5, " #name "@GLIBC_2.2.5"); \
  extern "C" type name##_of_2_2_5 parameters;               \
  extern "C" type name parameters { return name##_of_2_2_5(__VA_ARGS__); }

// 2.29: the same without the error handling of SVID.
ZEROULP_OF_2_2_5(double, exp, (double x), x)
ZEROULP_OF_2_2_5(double, log, (double x), x)
ZEROULP_OF_2_2_5(double, log2, (double x), x)
ZEROULP_OF_2_2_5(double, pow, (double x, double y), x, y)

// 2.32 and 2.34: those of libpthread and libdl are in libc.
ZEROULP_OF_2_2_5(int, pthread_sigmask,
                 (int how, const sigset_t* set, sigset_t* old) noexcept, how,
                 set, old)
ZEROULP_OF_2_2_5(int, pthread_create,
                 (pthread_t * thread, const pthread_attr_t* how,
                  void* (*run)(void*), void* of) noexcept,
                 thread, how, run, of)
ZEROULP_OF_2_2_5(int, pthread_join, (pthread_t thread, void** result), thread,
                 result)
ZEROULP_OF_2_2_5(int, pthread_detach, (pthread_t thread) noexcept, thread)
ZEROULP_OF_2_2_5(int, __pthread_key_create,
                 (pthread_key_t * key, void (*end)(void*)) noexcept, key, end)
ZEROULP_OF_2_2_5(int, pthread_key_create,
                 (pthread_key_t * key, void (*end)(void*)) noexcept, key, end)
ZEROULP_OF_2_2_5(int, pthread_setspecific,
                 (pthread_key_t key, const void* of) noexcept, key, of)
ZEROULP_OF_2_2_5(void*, dlopen, (const char* path, int how) noexcept, path, how)
ZEROULP_OF_2_2_5(void*, dlsym, (void* library, const char* name) noexcept,
                 library, name)
ZEROULP_OF_2_2_5(char*, dlerror, () noexcept)

extern "C" {

// 2.32: whether reference counts may do without atomics. They may not.
char __libc_single_threaded = 0;  // NOLINT

// 2.33: before, inline functions around others.
int fstat(int file, struct stat* s) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, s));
}
int fstat64(int file, struct stat64* s) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, s));
}
int fstatat(int folder, const char* path, struct stat* s, int how) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, s, how));
}
int stat(const char* path, struct stat* s) noexcept {
  return static_cast<int>(syscall(SYS_stat, path, s));
}
int lstat(const char* path, struct stat* s) noexcept {
  return static_cast<int>(syscall(SYS_lstat, path, s));
}

// 2.34, of libpthread before, whose own ends the process if run() throws and
// the unwinder is an archive.
int pthread_once(pthread_once_t* once, void (*run)()) {
  enum : int { not_yet, running, done };
  static_assert(sizeof *once == sizeof(int));
  int* const state = once;
  while (__atomic_load_n(state, __ATOMIC_ACQUIRE) != done) {
    int expected = not_yet;
    if (__atomic_compare_exchange_n(state, &expected, running, false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
      // If run() throws, the next call begins anew.
      struct guard {
        int* state;
        int then = not_yet;
        ~guard() { __atomic_store_n(state, then, __ATOMIC_RELEASE); }
      } g{state};
      run();
      g.then = done;
    } else if (expected == running) {
      usleep(50);
    }
  }
  return 0;
}

// 2.36.
uint32_t arc4random() noexcept {
  uint32_t word = 0;
  while (getrandom(&word, sizeof word, 0) != sizeof word) {
    if (errno != EINTR) std::abort();
  }
  return word;
}

// 2.35: which object has the code at `pc`. The unwinder asks nobody else.
int _dl_find_object(void* pc, struct dl_find_object* found) noexcept {
  struct search {
    ElfW(Addr) pc;
    struct dl_find_object* found;
  } s{reinterpret_cast<ElfW(Addr)>(pc), found};
  const auto look = [](dl_phdr_info* object, size_t, void* of) {
    auto& s = *static_cast<search*>(of);
    const ElfW(Phdr)* frames = nullptr;
    bool is_here = false;
    ElfW(Addr) first = ~ElfW(Addr){0}, end = 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = object->dlpi_phdr[i];
      const ElfW(Addr) from = object->dlpi_addr + part.p_vaddr;
      const ElfW(Addr) to = from + part.p_memsz;
      if (part.p_type == PT_GNU_EH_FRAME) frames = &part;
      if (part.p_type != PT_LOAD) continue;
      if (s.pc >= from && s.pc < to) is_here = true;
      if (from < first) first = from;
      if (to > end) end = to;
    }
    if (!is_here || frames == nullptr) return 0;
    *s.found = {};
    s.found->dlfo_map_start = reinterpret_cast<void*>(first);
    s.found->dlfo_map_end = reinterpret_cast<void*>(end);
    s.found->dlfo_eh_frame =
        reinterpret_cast<void*>(object->dlpi_addr + frames->p_vaddr);
    return 1;
  };
  return dl_iterate_phdr(look, &s) == 1 ? 0 : -1;
}

}  // extern "C"
