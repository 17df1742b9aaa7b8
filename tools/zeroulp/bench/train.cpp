// Rows of the training step: how fast its products are beside a GEMM alone, in
// turns, and what share of a step they take.

#include <chrono>

#include "tools/train/timing.hpp"
#include "tools/zeroulp/bench/gemm.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::program {
namespace {

constexpr const char* arm_name = "full";
constexpr const char* recipe_name = "deepgemm.1d2d";

struct step_row {
  const char* size;
  gemm_shape beside;  ///< the largest product of a step
  bool takes_minutes;
};
constexpr step_row step_rows[] = {{"T", {1024, 1024, 256}, false},
                                  {"bridge", {2048, 16384, 2048}, true}};

std::string name_of(const step_row& r, const char* what) {
  return std::string("train.") + r.size + "." + what;
}

/// A step in turns with a GEMM, and what both took.
struct timed_step {
  train::step_times times;
  std::unique_ptr<train::any_run> run;
  std::vector<double> gemm_rates;  ///< GMAC/s, by round
  std::vector<double> step_rates;
  std::vector<double> shares;
  std::vector<double> attention_shares;

  void advance() {
    times = {};
    const auto start = std::chrono::steady_clock::now();
    run->advance();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    step_rates.push_back(times.fp8.multiply_adds / times.fp8.seconds / 1e9);
    shares.push_back((times.fp8.seconds + times.other.seconds) / seconds);
    attention_shares.push_back(times.attention_seconds / seconds);
  }
};

bench_group step_group(const step_row& row, const bench_context& how) {
  const int threads = how.threads.back();
  const gemm_shape shape = how.sized(row.beside, gemm_shape{96, 96, 512});
  auto p = std::make_shared<gemm_problem<std::uint8_t>>(with_recipe(
      make_problem<std::uint8_t>(hopper_wgmma_e4m3, shape), recipe_name));
  auto out = std::make_shared<std::vector<std::uint32_t>>(
      static_cast<std::size_t>(shape.m * shape.n));
  const auto step = std::make_shared<timed_step>();
  train::run_settings settings{
      train::parse_shape(how.quick ? "tiny" : row.size), parse_arm(arm_name)};
  settings.rate = train::usual_rate(settings.shape, 1000);
  step->run = train::make_timed_run(
      settings, train::training_data(settings.shape), step->times);

  bench_group g;
  bench_job gemm = p->job(name_of(row, "gemm"));
  gemm.threads = {threads};
  p->sample(gemm, *out);
  gemm.run = [p, out, step, work = gemm.work] {
    const auto start = std::chrono::steady_clock::now();
    p->multiply({p->a->f, p->a->view()}, {p->b->f, p->b->view()}, *out);
    const std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - start;
    step->gemm_rates.push_back(work / spent.count());
  };
  g.jobs.push_back(std::move(gemm));
  bench_job whole{
      name_of(row, "step"), "s", 0, arm_name, {threads}, false, {}, {}};
  whole.run = [step] { step->advance(); };
  g.jobs.push_back(std::move(whole));
  g.others = [row, step, threads] {
    const auto one = [&](const char* what, const char* unit, double value) {
      return bench_row{
          name_of(row, what), unit, {value}, threads, "", arm_name};
    };
    return std::vector<bench_row>{
        one("products", "GMAC/s", median(step->step_rates)),
        one("products_over_gemm", "x",
            median(step->step_rates) / median(step->gemm_rates)),
        one("products_share", "x", median(step->shares)),
        one("attention_share", "x", median(step->attention_shares))};
  };
  return g;
}

}  // namespace

std::vector<bench_entry> training_benches() {
  std::vector<bench_entry> all;
  for (const auto& row : step_rows) {
    all.push_back(
        {{name_of(row, "gemm"), name_of(row, "step"), name_of(row, "products"),
          name_of(row, "products_share")},
         [row](const bench_context& how) { return step_group(row, how); },
         row.takes_minutes});
  }
  return all;
}

}  // namespace zeroulp::program
