// Cases of the target `step` at an instruction's full length.

#include "fuzz/engine/full_step.hpp"

#include <algorithm>

namespace zeroulp::fuzz {

void fill_up(const path& p, step_case& s) {
  const auto count = static_cast<std::size_t>(s.count);
  const auto length = p.length() > 0 ? static_cast<std::size_t>(p.length())
                                     : std::max<std::size_t>(count, 1);
  for (auto* codes : {&s.a, &s.b}) {
    codes->resize(count);
    codes->resize(length, 0);
  }
  s.count = static_cast<int>(length);
}

step_case full_step(const path& p, int profile, std::uint64_t seed,
                    std::uint64_t index) {
  problem made = generate(target::step, profile, seed, index,
                          [&p](settings& s) { s.unit = p; });
  step_case s{std::move(made.in[0].words), std::move(made.in[1].words),
              static_cast<int>(made.in[0].cols), made.in[2].words[0]};
  fill_up(p, s);
  return s;
}

problem problem_of(const path& p, const step_case& s) {
  problem made;
  made.what = target::step;
  made.with.unit = p;
  made.in = {{"a", p.a, 1, s.count},
             {"b", p.b, 1, s.count},
             {"c", p.acc.stored, 1, 1, s.c}};
  const auto copy = [&s](matrix& m, const std::vector<std::uint64_t>& codes) {
    m.words.assign(codes.begin(), codes.begin() + s.count);
  };
  copy(made.in[0], s.a);
  copy(made.in[1], s.b);
  return made;
}

std::uint64_t core_step(const path& p, const step_case& s) {
  static const auto step = conformance::core_implementation().step;
  return step(p, s.a.data(), s.b.data(), s.count, s.c);
}

}  // namespace zeroulp::fuzz
