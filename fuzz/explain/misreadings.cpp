// Operands from a neighbour's place, tails and scales that are left out.

#include <algorithm>
#include <array>

#include "fuzz/explain/explain.hpp"
#include "zeroulp/core/arith.hpp"

namespace zeroulp::fuzz {
namespace {

/// Element (i, j) is that `down` rows further and `right` columns further; at
/// an edge, the last there is.
matrix moved(const matrix& x, std::ptrdiff_t down, std::ptrdiff_t right) {
  matrix y = x;
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      y(i, j) = x(std::clamp<std::ptrdiff_t>(i + down, 0, x.rows - 1),
                  std::clamp<std::ptrdiff_t>(j + right, 0, x.cols - 1));
    }
  }
  return y;
}

/// The words in the order of the transpose, in the shape of `x`.
matrix relaid(const matrix& x) {
  matrix y = transposed(x);
  y.rows = x.rows;
  y.cols = x.cols;
  return y;
}

matrix filled(matrix x, std::uint64_t word) {
  std::fill(x.words.begin(), x.words.end(), word);
  return x;
}

/// A way to read a matrix of scales wrongly.
struct misreading {
  const char* name;
  const char* what;
  matrix (*read)(const matrix&);
};
constexpr misreading all_misreadings[] = {
    {"right", "of the group to the right",
     [](const matrix& x) { return moved(x, 0, 1); }},
    {"left", "of the group to the left",
     [](const matrix& x) { return moved(x, 0, -1); }},
    {"below", "of the group below",
     [](const matrix& x) { return moved(x, 1, 0); }},
    {"above", "of the group above",
     [](const matrix& x) { return moved(x, -1, 0); }},
    {"first_column", "of the first column of groups",
     [](const matrix& x) { return moved(x, 0, -x.cols); }},
    {"first_row", "of the first row of groups",
     [](const matrix& x) { return moved(x, -x.rows, 0); }},
    {"transposed", "in the order of their transpose", relaid},
};

/// Codes by scales that are read wrongly. The scales themselves are right.
suspect quantize_by(const misreading& m) {
  return {suspicion::displacement, std::string("scales:") + m.name,
          std::string("as if the codes were made by the scales ") + m.what,
          [read = m.read](const problem& p) {
            outputs made = claimed_outputs(p);
            made[1] = codes_by_scales(p, read(made[0]));
            return made;
          }};
}

/// A GEMM whose operand `which` is read by `read`.
suspect gemm_by(std::string name, std::string what, std::size_t which,
                std::function<matrix(const matrix&)> read) {
  return {suspicion::displacement, std::move(name), "as if " + std::move(what),
          [which, read = std::move(read)](const problem& p) {
            problem q = p;
            if (q.in[which].rows > 0) q.in[which] = read(q.in[which]);
            return claimed_outputs(q);
          }};
}

/// The operand with zeros beyond the last multiple of `grain` along K.
matrix without_tail(const matrix& x, std::ptrdiff_t grain) {
  matrix y = x;
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = x.cols / grain * grain; j < x.cols; ++j) {
      y(i, j) = 0;
    }
  }
  return y;
}

std::vector<suspect> of_gemm(const problem& p) {
  std::vector<suspect> all;
  constexpr std::array<const char*, 2> names = {"A", "B"};
  for (std::size_t x = 0; x < names.size(); ++x) {
    const std::string name = names[x];
    if (p.in[2 + x].rows == 0) continue;
    for (const misreading& m : all_misreadings) {
      all.push_back(gemm_by("scales_" + name + ":" + m.name,
                            name + "'s scales were those " + m.what, 2 + x,
                            m.read));
    }
    all.push_back(gemm_by("scales_" + name + ":none",
                          name + "'s scales were not applied", 2 + x,
                          [](const matrix& s) { return filled(s, fp32_one); }));
  }
  const std::ptrdiff_t k = p.in[0].cols;
  for (const std::ptrdiff_t grain : {128, 64, 32, 16}) {
    if (k % grain == 0) continue;
    all.push_back(gemm_by(
        "tail:" + std::to_string(grain),
        "the last " + std::to_string(k % grain) + " elements of K (K mod " +
            std::to_string(grain) + ") were left out",
        0, [grain](const matrix& a) { return without_tail(a, grain); }));
  }
  for (const std::ptrdiff_t lost : {128, 64, 32}) {
    if (k <= lost || k % lost != 0) continue;
    all.push_back(gemm_by(
        "tail:last_" + std::to_string(lost),
        "the last " + std::to_string(lost) + " elements of K were left out", 0,
        [lost](const matrix& a) {
          return without_tail(a, (a.cols - 1) / lost * lost);
        }));
  }
  if (p.with.gemm.end == epilogue::accumulate) {
    all.push_back(gemm_by("c:none", "C were not added", 4,
                          [](const matrix& c) { return filled(c, 0); }));
  }
  return all;
}

std::vector<suspect> of_quantizer() {
  std::vector<suspect> all;
  for (const misreading& m : all_misreadings) all.push_back(quantize_by(m));
  const auto stored = [&all](const char* name, const char* what,
                             std::uint32_t (*change)(std::uint32_t)) {
    all.push_back(
        {suspicion::displacement, name, what, [change](const problem& p) {
           outputs made = claimed_outputs(p);
           for (auto& word : made[0].words) {
             word = change(static_cast<std::uint32_t>(word));
           }
           return made;
         }});
  };
  stored("scales:reciprocal", "as if the scales were stored as 1 / scale",
         [](std::uint32_t s) {
           return static_cast<std::uint32_t>(divide(fp32, fp32_one, s));
         });
  return all;
}

}  // namespace

std::vector<suspect> misreadings(const problem& p) {
  if (p.what == target::gemm) return of_gemm(p);
  return p.what == target::quantize ? of_quantizer() : std::vector<suspect>{};
}

}  // namespace zeroulp::fuzz
