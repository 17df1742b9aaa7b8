// How a program starts where glibc is older than 2.34: its constructors were
// run by its start files, and GCC's no longer do. Hidden.
//
// Source: System V ABI, "Initialization and Termination Functions"; glibc's
// NEWS of 2.34.

asm(".symver start_of_2_2_5, __libc_start_main@GLIBC_2.2.5");

extern "C" {

using constructor = void (*)(int, char**, char**);
extern constructor __init_array_start[];  // NOLINT
extern constructor __init_array_end[];    // NOLINT

static void construct(int count, char** arguments, char** environment) {
  for (auto* c = __init_array_start; c != __init_array_end; ++c) {
    (*c)(count, arguments, environment);
  }
}

int start_of_2_2_5(int (*)(int, char**, char**), int, char**, constructor,
                   void (*)(), void (*)(), void*);

int __libc_start_main(int (*main)(int, char**, char**), int count,  // NOLINT
                      char** arguments, constructor, void (*)(),
                      void (*end_of_loader)(), void* stack) {
  return start_of_2_2_5(main, count, arguments, construct, nullptr,
                        end_of_loader, stack);
}

}  // extern "C"
