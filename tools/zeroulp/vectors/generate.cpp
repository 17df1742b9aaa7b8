// vectors generate: steps of any path with the result of the core, for whoever
// has hardware to hold against it.

#include <fmt/format.h>

#include <memory>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/vectors/vectors.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "fuzz/cases/vectors.hpp"
#include "src/io/gzip.hpp"
#include "zeroulp/spec_version.hpp"
#endif

namespace zeroulp::program {
namespace {

struct generate_request {
  std::string path;
  std::string profile = "mixed";
  std::string out;
  std::uint64_t count = 1000;
  std::uint64_t seed = 1;
};

#ifdef ZEROULP_HAVE_CONFORMANCE

std::string generated_text(const generate_request& q) {
  fuzz::vector_section s;
  s.of = parse_path(q.path);
  const path& p = s.of.value;
  const int profile = fuzz::parse_profile(fuzz::target::step, q.profile);
  s.fields = {{"device", "none"},
              {"oracle", "core"},
              {"spec", fmt::format("{}", spec_version)},
              {"profile", q.profile},
              {"generator", fmt::format("{}", fuzz::generator_version)},
              {"seed", fmt::format("{}", q.seed)},
              {"count", fmt::format("{}", q.count)}};
  for (std::uint64_t n = 0; n < q.count; ++n) {
    s.cases.push_back(fuzz::full_step(p, profile, q.seed, n));
    s.d.push_back(fuzz::core_step(p, s.cases.back()));
  }
  s.comments = fuzz::comments_on(p, s.cases);
  return to_text(s);
}

void run_generate(const generate_request& q) {
  output_set files;
  if (!q.out.empty()) files.expect({q.out});
  const std::string text = generated_text(q);
  if (q.out.empty()) return print(text);
  files.add(q.out, q.out.ends_with(".gz") ? gzip(text) : text);
  files.commit();
}

#else

void run_generate(const generate_request&) {
  throw input_error(
      "vectors generate: this build has no case engine, as it has no MPFR, GMP "
      "or Boost: install them and build again");
}

#endif

}  // namespace

void add_vectors_generate(cli::app& vectors, outcome&) {
  auto* sub = add_command(
      vectors, "generate", "Make steps of a path, with the core's results",
      "zeroulp vectors generate hopper.wgmma.e4m3.e4m3.f32 --count 5000 --out "
      "steps.txt.gz");
  auto q = std::make_shared<generate_request>();
  sub->add_option("PATH", q->path, "see zeroulp paths; also whatif.fN.A.B.f32")
      ->required();
  sub->add_option("--count", q->count, "records")
      ->check(cli::range(1, 1'000'000))
      ->capture_default_str();
  add_seed(sub, q->seed);
  sub->add_option("--profile", q->profile, "family of cases of fuzz step")
      ->capture_default_str();
  sub->add_option("--out", q->out,
                  "file, compressed if it ends in .gz; else standard output");
  sub->callback([q] { run_generate(*q); });
}

}  // namespace zeroulp::program
