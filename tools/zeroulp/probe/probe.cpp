// probe: what the tensor core of a GPU, or any other black box, does with the
// terms of a step.

#include <fmt/format.h>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/plugin/plugins.hpp"
#include "tools/zeroulp/probe/boxes.hpp"
#include "tools/zeroulp/probe/report.hpp"
#endif

namespace zeroulp::program {
namespace {

struct probe_request {
  std::string what;
  std::string recipe;
  int length = 0;
  int steps = 20'000;
  std::uint64_t seed = 1;
  bool on_gpu = false;
  bool by_mma = false;
  bool as_json = false;
#ifdef ZEROULP_HAVE_CONFORMANCE
  plugin_user plugins;
#endif
};

#ifdef ZEROULP_HAVE_CONFORMANCE

std::vector<fuzz::black_box> boxes_of_plugin(probe_request& q) {
  const auto code = q.plugins.find(q.what);
  std::vector<fuzz::black_box> all;
  for (const auto& c : code->claims()) {
    if (!has_box(c) || (!q.recipe.empty() && c.as != q.recipe)) continue;
    constexpr int usual = 64;
    all.push_back(box_of_claim(code, c, q.length > 0 ? q.length : usual));
  }
  if (all.empty()) {
    throw input_error(
        fmt::format("{} claims no gemm{}{} whose output is FP32: a probe needs "
                    "every bit of the sum",
                    q.what, q.recipe.empty() ? "" : " as ", q.recipe));
  }
  return all;
}

std::vector<fuzz::black_box> boxes_of(probe_request& q) {
  if (is_plugin(q.what)) {
    if (q.on_gpu) throw input_error("--gpu: for a path, not for a plug-in");
    return boxes_of_plugin(q);
  }
  if (!q.recipe.empty()) throw input_error("--recipe: for a plug-in alone");
  const auto p = parse_path(q.what);
  if (!q.on_gpu) return {box_of_path(p, q.length)};
  if (q.length != 0) {
    throw input_error("--length: an instruction has its own");
  }
  return {box_of_gpu(p, q.by_mma)};
}

void run_probe(probe_request& q, outcome& out) {
  constexpr int longest = 128;
  if (q.length < 0 || q.length > longest) {
    throw input_error(fmt::format("--length: use 1 to {}", longest));
  }
  if (q.steps < 0) throw input_error("--steps: 0 or more");
  json all = json::array();
  for (const auto& box : boxes_of(q)) {
    const auto r = fuzz::probe(box, {q.steps, q.seed});
    if (!r.fits) out.status = 1;
    q.as_json ? all.push_back(probe_json(box, r)) : print_probe(box, r);
  }
  if (q.as_json) print_json(all);
  if (is_plugin(q.what)) print_error(q.plugins.seal_note());
}

#endif

}  // namespace

void add_probe(cli::app& app, outcome& out) {
  auto* sub = add_command(
      app, "probe",
      "What a tensor core does, from its outputs alone: the instruction of a "
      "GPU, a plug-in's GEMM, or a path of the SPEC",
      "zeroulp probe hopper.wgmma.e4m3.e4m3.f32 --gpu");
  auto q = std::make_shared<probe_request>();
  sub->add_option("WHAT", q->what,
                  "a path (zeroulp paths), LIB.so or python:FILE.py")
      ->required();
  auto* gpu = sub->add_flag("--gpu", q->on_gpu,
                            "Ask the instruction that is claimed to follow the "
                            "path, and not the path");
  sub->add_flag("--mma", q->by_mma, "With --gpu: by mma.sync, not wgmma")
      ->needs(gpu);
  sub->add_option("--recipe", q->recipe,
                  "Of a plug-in's claims, those of this recipe");
  sub->add_option("--length", q->length,
                  "Products of a call: K of a plug-in's GEMM (64)");
  sub->add_option("--steps", q->steps,
                  "Random steps on which the answer is held at the end")
      ->capture_default_str();
  add_seed(sub, q->seed, "of these steps");
  sub->add_flag("--json", q->as_json);
#ifdef ZEROULP_HAVE_CONFORMANCE
  q->plugins.add_options(sub);
  sub->callback([q, &out] { run_probe(*q, out); });
#else
  sub->callback([&out] {
    static_cast<void>(out);
    throw input_error(
        "probe: this build has no MPFR, GMP or Boost, and with them the part "
        "that asks is missing: install them and build again");
  });
#endif
}

}  // namespace zeroulp::program
