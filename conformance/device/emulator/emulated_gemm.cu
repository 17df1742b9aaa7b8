// The emulated GEMM of every recipe against the compiled library on the host,
// which equals the core: SPEC clauses G1 to G10.

#include <algorithm>
#include <cstring>
#include <vector>

#include "conformance/device/support/test.hpp"
#include "fuzz/cases/problem.hpp"
#include "fuzz/cases/token.hpp"
#include "zeroulp/cuda.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Packs codes into bytes as the GPU reads them.
std::vector<unsigned char> packed(const fuzz::matrix& x) {
  const std::size_t bytes = storage_bytes(x.type);
  std::vector<unsigned char> out(x.words.size() * bytes);
  for (std::size_t i = 0; i < x.words.size(); ++i) {
    for (std::size_t b = 0; b < bytes; ++b) {
      out[i * bytes + b] = static_cast<unsigned char>(x.words[i] >> (8 * b));
    }
  }
  return out;
}

/// A copy in device memory.
class uploaded {
 public:
  explicit uploaded(const fuzz::matrix& x)
      : rows_(x.rows), cols_(x.cols), data_(x.words.size() * 4 + 4) {
    const auto bytes = packed(x);
    require(cudaMemcpy(data_.data(), bytes.data(), bytes.size(),
                       cudaMemcpyHostToDevice));
  }
  const void* data() const { return data_.data(); }
  /// Reads the matrix back. Returns false iff memory behind it was written.
  bool copy_to(fuzz::matrix& x) const {
    std::vector<unsigned char> bytes(x.words.size() * 4 + 4);
    data_.copy_to(bytes.data(), bytes.size());
    const std::size_t each = storage_bytes(x.type);
    for (std::size_t i = 0; i < x.words.size(); ++i) {
      x.words[i] = 0;
      std::memcpy(&x.words[i], &bytes[i * each], each);
    }
    return std::all_of(
        bytes.begin() + static_cast<std::ptrdiff_t>(x.words.size() * each),
        bytes.end(), [](unsigned char b) { return b == 0; });
  }
  cuda::matrix matrix() const { return {data_.data(), rows_, cols_}; }
  matrix_view<std::uint32_t> words() const {
    return {reinterpret_cast<std::uint32_t*>(data_.data()), rows_, cols_};
  }

 private:
  std::ptrdiff_t rows_, cols_;
  device_buffer<unsigned char> data_;
};

struct emulation {
  fuzz::matrix d;
  bool kept_to_d;  ///< no memory behind D was written
};

emulation emulated(const fuzz::problem& p) {
  const recipe r = fuzz::recipe_of(p.with);
  const uploaded a(p.in[0]), b(p.in[1]), sa(p.in[2]), sb(p.in[3]), c(p.in[4]);
  const format output = p.with.gemm.output;
  const uploaded d(fuzz::matrix("d", output, p.in[0].rows, p.in[1].rows));
  const auto operand = [](const fuzz::matrix& x, const uploaded& codes,
                          const fuzz::matrix& scales, const uploaded& s) {
    cuda::operand o{x.type, codes.data(), x.rows, x.cols, x.cols};
    if (scales.rows > 0) o.scales = s.words();
    return o;
  };
  cuda::emulate_gemm(
      r, operand(p.in[0], a, p.in[2], sa), operand(p.in[1], b, p.in[3], sb),
      p.in[4].rows > 0 ? c.matrix() : cuda::matrix{}, d.matrix());
  finish_kernel();
  emulation out{{"d", output, p.in[0].rows, p.in[1].rows}, true};
  out.kept_to_d = d.copy_to(out.d);
  return out;
}

void hold(const fuzz::problem& p, const implementation& right, verdict& v) {
  const auto want = fuzz::info_of(p.what).run(right, p)[0];
  const auto [got, kept_to_d] = emulated(p);
  v.count(kept_to_d, [&] { return "writes behind D: " + fuzz::to_token(p); });
  for (std::size_t i = 0; i < want.words.size(); ++i) {
    v.compare(got.words[i], want.words[i], [&] {
      char text[96];
      std::snprintf(text, sizeof text, "D[%zu] is %llx, not %llx: ", i,
                    static_cast<unsigned long long>(got.words[i]),
                    static_cast<unsigned long long>(want.words[i]));
      return text + (p.in[0].words.size() < 4096 ? fuzz::to_token(p)
                                                 : std::string("large"));
    });
  }
}

/// Checks cases of the case engine.
verdict hold_cases(const effort& e) {
  verdict v;
  const auto core = core_implementation();
  const std::uint64_t count = cases(e, 50, 20000);
  for (std::uint64_t n = 0; n < count; ++n) {
    hold(fuzz::generate(fuzz::target::gemm, -1, e.seed, n), core, v);
  }
  return v;
}

/// An operand of numbers near 1 with any fraction; scales have no sign.
fuzz::matrix drawn_operand(const fuzz::operand_spec& spec, std::ptrdiff_t edge,
                           counter_rng& rng) {
  auto x = fuzz::make_operand(spec, edge, edge + 31, 2 * edge + 7);
  const format f = x.type;
  for (auto& word : x.words) {
    const std::uint64_t r = rng.next();
    const std::uint64_t exponent =
        static_cast<std::uint64_t>(f.bias) - 2 + (r & 3);
    const bool sign = f == fp32 ? false : (r & 4) != 0;
    word = exponent << f.man_bits | (r >> 8 & low_bits(f.man_bits)) |
           (sign ? f.sign_mask() : 0);
  }
  return x;
}

/// A recipe on matrices of many tiles.
fuzz::problem drawn_problem(const recipe& r, const path& unit, const effort& e,
                            std::uint64_t stream) {
  const std::ptrdiff_t edge = e.level == 0 ? 70 : 300;
  fuzz::problem p;
  p.what = fuzz::target::gemm;
  p.with.gemm = r;
  p.with.unit = unit;
  counter_rng rng(e.seed, stream);
  for (const auto& spec : fuzz::info_of(p.what).operands(p.with)) {
    p.in.push_back(drawn_operand(spec, edge, rng));
  }
  return p;
}

/// Checks named recipes against the compiled library.
verdict hold_named(const effort& e) {
  verdict v;
  const auto engine = engine_implementation();
  for (const auto& named : named_recipes) {
    const accumulator& acc = named.value.acc;
    hold(drawn_problem(named.value, {e4m3, e5m2, acc}, e, 3), engine, v);
    if (acc != hopper_fp8_f32) continue;
    hold(drawn_problem(named.value, {bf16, bf16, hopper_half_f32}, e, 3),
         engine, v);
  }
  return v;
}

/// Checks accumulators of fewer bits, promoted and not, against the compiled
/// library.
verdict hold_what_ifs(const effort& e) {
  verdict v;
  const auto engine = engine_implementation();
  for (int bits = 8; bits <= 14; ++bits) {
    const accumulator acc = what_if_fraction(bits);
    for (const char* name : {"unpromoted", "deepgemm.1d1d"}) {
      recipe r = parse_recipe(name).value;
      r.acc = acc;
      const std::uint64_t stream = 4 + static_cast<std::uint64_t>(bits);
      hold(drawn_problem(r, {e4m3, e4m3, acc}, e, stream), engine, v);
      hold(drawn_problem(r, {e5m2, e4m3, acc}, e, stream), engine, v);
    }
  }
  return v;
}

}  // namespace

check_list emulated_gemm_checks() {
  return {
      device_check("emulator.gemm.cases", "G1 G2 G3 G4 G5 G6 G7 G8 G9", "host",
                   hold_cases),
      device_check("emulator.gemm.named", "G10", "host", hold_named),
      device_check("emulator.gemm.what_if", "T13 G4", "host", hold_what_ifs)};
}

}  // namespace zeroulp::conformance::device
