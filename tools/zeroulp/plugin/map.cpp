#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/plugin/map.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>

#include "conformance/plugin/process/protocol.hpp"

namespace zeroulp::program {
namespace {

using conformance::plugin::memory_bytes;
using conformance::plugin::memory_fd;
using conformance::plugin::socket_fd;

/// In front of the memory and behind it.
constexpr std::size_t margin = memory_bytes;

// What the handler of a signal can know.
unsigned char* memory = nullptr;
volatile std::sig_atomic_t has_returned = 0;  ///< the call
struct sigaction before_segv, before_bus;

/// What touched the memory did: of the processors that say so.
const char* deed_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  constexpr long long is_write = 2;
  const auto* const at = static_cast<const ucontext_t*>(context);
  return (at->uc_mcontext.gregs[REG_ERR] & is_write) != 0 ? "wrote" : "read";
#else
  return "reached";
#endif
}

char* append(char* to, const char* text) {
  while (*text != '\0') *to++ = *text++;
  return to;
}

char* append(char* to, std::ptrdiff_t number) {
  if (number < 0) {
    *to++ = '-';
    number = -number;
  }
  char digits[24];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
  } while ((number /= 10) != 0);
  while (count > 0) *to++ = digits[--count];
  return to;
}

/// Calls nothing but what a handler may.
void answer_for(int signal, siginfo_t* info, void* context) {
  const auto* const at = static_cast<const unsigned char*>(info->si_addr);
  const bool is_fault = info->si_code > 0;
  if (!is_fault || at < memory - margin ||
      at >= memory + memory_bytes + margin) {
    // It comes again: to whom it came before us.
    sigaction(signal, signal == SIGBUS ? &before_bus : &before_segv, nullptr);
    if (!is_fault) raise(signal);
    return;
  }
  char line[128];
  char* end = line;
  if (has_returned != 0) {
    end = append(append(end, "changed left%20a%20thread%20running%20that%20"),
                 deed_of(context));
    end = append(end, "%20memory%20after%20the%20call\n");
  } else {
    end = append(append(end, "stray "), deed_of(context));
    end = append(append(append(end, " "), at - memory), "\n");
  }
  [[maybe_unused]] const auto sent =
      write(socket_fd, line, static_cast<std::size_t>(end - line));
  _exit(1);
}

}  // namespace

plugin_map::plugin_map() {
  constexpr int no_memory = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const all =
      mmap(nullptr, memory_bytes + 2 * margin, PROT_NONE, no_memory, -1, 0);
  if (all == MAP_FAILED) return;
  auto* const here = static_cast<unsigned char*>(all) + margin;
  if (mmap(here, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
           memory_fd, 0) == MAP_FAILED) {
    return;
  }
  data_ = here;
  open_ = {{0, memory_bytes}};
}

void plugin_map::watch() {
  memory = data_;
  struct sigaction ours {};
  ours.sa_sigaction = answer_for;
  ours.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &ours, &before_segv);
  sigaction(SIGBUS, &ours, &before_bus);
}

bool plugin_map::open_only(const std::vector<page_range>& pages) {
  has_returned = pages.empty() ? 1 : 0;
  if (pages == open_) return true;
  open_.clear();
  if (mprotect(data_, memory_bytes, PROT_NONE) != 0) return false;
  for (const auto& [begin, end] : pages) {
    if (mprotect(data_ + begin, end - begin, PROT_READ | PROT_WRITE) != 0) {
      return false;
    }
  }
  open_ = pages;
  return true;
}

}  // namespace zeroulp::program
#endif
