#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/plugin/state.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "conformance/plugin/process/processes.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace zeroulp::program {
namespace {

struct mode {
  const char* name;
  int digits;
};

#if defined(__x86_64__)

constexpr mode modes[] = {{"MXCSR", 4}, {"the x87 control word", 4}};

std::array<std::uint32_t, 2> current_modes() {
  constexpr unsigned flags = 0x3f;
  std::uint16_t x87 = 0;
  asm volatile("fnstcw %0" : "=m"(x87));
  return {_mm_getcsr() & ~flags, x87};
}

std::string meaning(std::size_t which, std::uint32_t changed) {
  struct field {
    std::uint32_t bits;
    const char* name;
  };
  constexpr field sse[] = {{0x8000, "flush to zero"},
                           {0x0040, "denormals are zeros"},
                           {0x6000, "rounding"},
                           {0x1f80, "exceptions"}};
  constexpr field x87[] = {{0x0c00, "rounding"},
                           {0x0300, "precision"},
                           {0x003f, "exceptions"},
                           {0, ""}};
  std::string text;
  for (const auto& [bits, name] : which == 0 ? sse : x87) {
    if ((changed & bits) == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text.empty() ? "" : " (" + text + ")";
}

#elif defined(__aarch64__)

constexpr mode modes[] = {{"FPCR", 8}, {"", 0}};

std::array<std::uint32_t, 2> current_modes() {
  std::uint64_t fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return {static_cast<std::uint32_t>(fpcr), 0};
}

std::string meaning(std::size_t, std::uint32_t) { return ""; }

#else

constexpr mode modes[] = {{"", 0}, {"", 0}};
std::array<std::uint32_t, 2> current_modes() { return {}; }
std::string meaning(std::size_t, std::uint32_t) { return ""; }

#endif

struct watched_signal {
  int number;
  const char* name;
};
constexpr watched_signal watched[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}};

std::uintptr_t handler_of(int signal) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) != 0
             ? reinterpret_cast<std::uintptr_t>(now.sa_sigaction)
             : reinterpret_cast<std::uintptr_t>(now.sa_handler);
}

int count_children() {
  siginfo_t none{};
  // Cheap where there is none, as nearly always.
  if (waitid(P_ALL, 0, &none, WEXITED | WNOHANG | WNOWAIT) != 0) return 0;
  return static_cast<int>(conformance::plugin::descendants_of(getpid()).size());
}

}  // namespace

process_state current_state() {
  process_state s;
  s.modes = current_modes();
  for (std::size_t i = 0; i < s.handlers.size(); ++i) {
    s.handlers[i] = handler_of(watched[i].number);
  }
  s.children = count_children();
  return s;
}

std::string difference(const process_state& before, const process_state& now) {
  for (std::size_t i = 0; i < now.modes.size(); ++i) {
    if (before.modes[i] == now.modes[i]) continue;
    return fmt::format("changed {}: {:0{}x} became {:0{}x}{}", modes[i].name,
                       before.modes[i], modes[i].digits, now.modes[i],
                       modes[i].digits,
                       meaning(i, before.modes[i] ^ now.modes[i]));
  }
  for (std::size_t i = 0; i < now.handlers.size(); ++i) {
    if (before.handlers[i] == now.handlers[i]) continue;
    return fmt::format("replaced the handler of {}, which tells wild writes",
                       watched[i].name);
  }
  const int left = now.children - before.children;
  if (left <= 0) return "";
  return fmt::format("left {} process{} running", left, left == 1 ? "" : "es");
}

}  // namespace zeroulp::program
#endif
