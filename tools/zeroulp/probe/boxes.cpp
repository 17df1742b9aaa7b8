// What the program can hold a probe to.

#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/probe/boxes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "conformance/oracles/grid.hpp"
#include "fuzz/cases/options.hpp"
#include "tools/zeroulp/program.hpp"
#ifdef ZEROULP_HAVE_DEVICE
#include "conformance/device/device.hpp"
#endif

namespace zeroulp::program {
namespace {

using conformance::plugin::claim;
using conformance::plugin::plugin_code;
using fuzz::black_box;
using fuzz::step_case;
using oracle::grid;

std::vector<unpacked> decoded(format f,
                              const std::vector<std::uint64_t>& codes) {
  std::vector<unpacked> values;
  for (const auto code : codes) values.push_back(decode(f, code));
  return values;
}

/// D of the whole instruction by the core.
std::uint64_t core_result(const path& p, const step_case& s) {
  const auto a = decoded(p.a, s.a);
  const auto b = decoded(p.b, s.b);
  return chain(p, a.data(), b.data(), 0, s.count, s.c);
}

/// So many steps go into one GEMM: row i by row i, the diagonal of D.
constexpr std::ptrdiff_t steps_a_gemm = 32;

grid ones(std::ptrdiff_t rows, std::ptrdiff_t cols) {
  grid g(rows, cols);
  std::fill(g.words.begin(), g.words.end(), bit_cast<std::uint32_t>(1.0f));
  return g;
}

grid scales_for(const granularity& by, std::ptrdiff_t rows, std::ptrdiff_t k) {
  return ones(by.mn > 0 ? ceil_div(rows, by.mn) : 1,
              by.k > 0 ? ceil_div(k, by.k) : 1);
}

class claimed_gemm {
 public:
  claimed_gemm(const std::shared_ptr<plugin_code>& code, const claim& c,
               const recipe& r, const path& formats, int length)
      : code_(code),
        recipe_(r),
        formats_(formats),
        m_(ceil_div(steps_a_gemm, c.multiple[0]) * c.multiple[0]),
        n_(ceil_div(steps_a_gemm, c.multiple[1]) * c.multiple[1]),
        length_(length) {}

  std::vector<std::uint64_t> operator()(
      const std::vector<step_case>& cases) const {
    std::vector<std::uint64_t> d;
    for (std::size_t i = 0; i < cases.size(); i += steps_a_gemm) {
      const std::size_t count =
          std::min<std::size_t>(steps_a_gemm, cases.size() - i);
      multiply(cases.data() + i, count, d);
    }
    return d;
  }

 private:
  void multiply(const step_case* cases, std::size_t count,
                std::vector<std::uint64_t>& all) const {
    grid a(m_, length_), b(n_, length_), c(m_, n_), d(m_, n_);
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::ptrdiff_t>(i);
      for (std::ptrdiff_t k = 0; k < length_; ++k) {
        const auto at = static_cast<std::size_t>(k);
        a(row, k) = static_cast<std::uint32_t>(cases[i].a[at]);
        b(row, k) = static_cast<std::uint32_t>(cases[i].b[at]);
      }
      c(row, row) = static_cast<std::uint32_t>(cases[i].c);
    }
    const grid sa = scales_for(recipe_.a, m_, length_);
    const grid sb = scales_for(recipe_.b, n_, length_);
    const auto view = [](const grid& g) {
      return conformance::codes_in{g.words.data(), g.rows, g.cols};
    };
    const auto before = code_->calls();
    conformance::plugin::implementation_of(code_).gemm(
        recipe_, {formats_.a, view(a), view(sa)},
        {formats_.b, view(b), view(sb)}, view(c),
        {d.words.data(), d.rows, d.cols});
    if (code_->calls() == before) {
      throw input_error(fmt::format("{} refuses a product of {} x {} x {}",
                                    code_->name(), m_, n_, length_));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::ptrdiff_t>(i);
      all.push_back(d(row, row));
    }
  }

  std::shared_ptr<plugin_code> code_;
  recipe recipe_;
  path formats_;
  std::ptrdiff_t m_;
  std::ptrdiff_t n_;
  std::ptrdiff_t length_;
};

}  // namespace

black_box box_of_path(const named_path& p, int length) {
  const path x = p.value;
  constexpr int usual = 16;
  if (length == 0) length = x.length() > 1 ? x.length() : usual;
  return {p.name,
          x.a,
          x.b,
          x.acc.stored,
          length,
          true,
          [x](const std::vector<step_case>& cases) {
            std::vector<std::uint64_t> d;
            for (const step_case& s : cases) d.push_back(core_result(x, s));
            return d;
          }};
}

black_box box_of_gpu(const named_path& p, bool by_mma) {
#ifdef ZEROULP_HAVE_DEVICE
  namespace device = conformance::device;
  if (const auto why = device::why_absent(); !why.empty()) {
    throw input_error(fmt::format("--gpu: {}", why));
  }
  const path x = p.value;
  if (!device::has_instruction(x)) {
    throw input_error(fmt::format(
        "--gpu: no instruction of Hopper is claimed to follow {}", p.name));
  }
  return {fmt::format("{} of {}", p.name, device::describe().name),
          x.a,
          x.b,
          x.acc.stored,
          x.length(),
          true,
          [x, by_mma](const std::vector<step_case>& cases) {
            return device::run_steps(x, cases, by_mma);
          }};
#else
  static_cast<void>(p);
  static_cast<void>(by_mma);
  throw input_error(fmt::format("--gpu: {}", no_gpu_part));
#endif
}

bool has_box(const claim& c) {
  return c.what == conformance::plugin::kind::gemm &&
         fuzz::recipe_of(settings_of(c)).output == fp32;
}

black_box box_of_claim(const std::shared_ptr<plugin_code>& code, const claim& c,
                       int length) {
  const fuzz::settings s = settings_of(c);
  const recipe r = fuzz::recipe_of(s);
  if (length % c.multiple[2] != 0) {
    throw input_error(fmt::format("--length {}: {} claims multiples of {}",
                                  length, code->name(), c.multiple[2]));
  }
  return {fmt::format("{}: {}", code->name(), c.text()),
          s.unit.a,
          s.unit.b,
          fp32,
          length,
          r.end == epilogue::accumulate,
          claimed_gemm(code, c, r, s.unit, length)};
}

}  // namespace zeroulp::program
#endif
