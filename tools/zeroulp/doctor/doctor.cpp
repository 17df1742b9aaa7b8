// doctor: what this program finds on the machine that it runs on, and what to
// do where something is missing.

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#ifdef ZEROULP_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/doctor/findings.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/record.hpp"
#include "zeroulp/threads.hpp"

namespace zeroulp::program {
namespace {

constexpr double seconds_to_wait = 30;  ///< Python may be on a slow disk

finding find_processor() {
  for (const auto& [name, value] : host_platform()) {
    if (name == "processor") return {"processor", standing::ok, value};
  }
  return {"processor", standing::ok, "the system does not name it"};
}

finding find_simd() {
  std::vector<std::string> supported;
  std::string used;
  for (const auto& row : engine::named_simds) {
    for (const auto set : engine::supported_simd()) {
      if (set == row.value) supported.emplace_back(row.name);
    }
    if (row.value == engine::current_simd()) used = row.name;
  }
  return judge_simd(used, supported);
}

/// That this process may run on.
int cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

/// A line of /proc/meminfo, in GiB.
double gib_of(const std::string& name) {
  std::ifstream lines("/proc/meminfo");
  std::string word;
  double kib = 0;
  while (lines >> word) {
    if (word == name + ":" && lines >> kib) return kib / (1 << 20);
    lines.ignore(1 << 10, '\n');
  }
  return 0;
}

std::optional<cuda_facts> find_cuda() {
#ifdef ZEROULP_HAVE_CUDA
  cuda_facts facts;
  (void)cudaDriverGetVersion(&facts.driver);
  (void)cudaRuntimeGetVersion(&facts.runtime);
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p{};
    if (cudaGetDeviceProperties(&p, i) != cudaSuccess) continue;
    facts.gpus.push_back({p.name, p.major, p.minor,
                          static_cast<double>(p.totalGlobalMem) / (1 << 30)});
  }
  return facts;
#else
  return {};
#endif
}

finding find_python() {
  const char* const chosen = std::getenv("ZEROULP_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "python3";
  return judge_python(
      python, run_child({python, "-c", python_question()}, seconds_to_wait),
      ZEROULP_VERSION);
}

std::vector<finding> find_all() {
  std::vector<finding> all{
      judge_build(ZEROULP_VERSION, commit_of_sources()), find_processor(),
      find_simd(), judge_threads(engine::current_threads(), cores()),
      judge_memory(gib_of("MemTotal"), gib_of("MemAvailable"))};
  for (auto& f : judge_cuda(find_cuda())) all.push_back(std::move(f));
  all.push_back(find_python());
  all.push_back(
      judge_gnuplot(run_child({"gnuplot", "--version"}, seconds_to_wait)));
  return all;
}

}  // namespace

void add_doctor(cli::app& app, outcome& out) {
  auto* sub = add_command(app, "doctor",
                          "What this program finds on this machine, and what "
                          "to do about it (exit status 1 if something is "
                          "broken)",
                          "zeroulp doctor --json");
  auto as_json = std::make_shared<bool>(false);
  sub->add_flag("--json", *as_json);
  sub->callback([as_json, &out] {
    const auto all = find_all();
    out.status = status_of(all);
    *as_json ? print_json(to_json(all)) : print(to_table(all));
  });
}

}  // namespace zeroulp::program
