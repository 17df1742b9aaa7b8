// What ThreadSanitizer watches: the compiled library with its own threads,
// called by several at once. With an argument, a race that must be reported.

#include "src/base/threads.hpp"

#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "zeroulp/zeroulp.hpp"

namespace {

using namespace zeroulp;

std::vector<std::uint32_t> random_codes(std::uint64_t seed, std::size_t count,
                                        std::uint32_t mask) {
  std::vector<std::uint32_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = static_cast<std::uint32_t>(counter_rng{seed, i}.next()) & mask;
  }
  return codes;
}

using in = matrix_view<const std::uint32_t>;
using out = matrix_view<std::uint32_t>;

void multiply_matrices() {
  constexpr std::ptrdiff_t m = 300, n = 270, k = 256;
  const auto a = random_codes(1, m * k, 0x77);
  const auto b = random_codes(2, n * k, 0xf7);
  const prepared_operand x(e4m3, in(a.data(), m, k));
  const prepared_operand y(e4m3, in(b.data(), n, k));
  std::vector<std::uint32_t> d(m * n);
  for (const auto& r : named_recipes) {
    if (r.value.acc.length == 0) continue;
    engine::gemm(r.value, x, {}, y, {}, in(d.data(), m, n), {d.data(), m, n});
  }
  const path lowered{e4m3, e4m3, hopper_half_f32, lowering::hmma_chained};
  engine::multiply(lowered, x, y, {}, {d.data(), m, n});
  std::vector<double> exact(m * n);
  engine::exact_products(x, y, {exact.data(), m, n});
}

void convert_matrices() {
  constexpr std::ptrdiff_t m = 512, n = 256;
  const auto x = random_codes(3, m * n, 0x3fffffff);
  std::vector<std::uint32_t> codes(m * n), scales(m * 2), turned(m * n),
      turned_scales(n * 4);
  std::vector<std::uint8_t> packed(m * n * 3 / 2);
  engine::recode(fp32, in(x.data(), m, n), bf16, out(codes.data(), m, n));
  engine::quantize(
      {fp32, e4m3, zeroulp_convention, scale_kind::float32, {1, 128}},
      in(x.data(), m, n), out(codes.data(), m, n), {scales.data(), m, 2});
  engine::retile({e4m3, e4m3, scale_kind::float32, 128, retile_rule::amax},
                 in(codes.data(), m, n), {scales.data(), m, 2},
                 out(turned.data(), n, m), {turned_scales.data(), n, 4});
  engine::pack_bytes(in(codes.data(), m, n), {packed.data(), m, n * 3 / 2});
}

void race() {
  int shared = 0;
  std::thread other([&] { ++shared; });
  ++shared;
  other.join();
  std::printf("%d\n", shared);
}

}  // namespace

int main(int argc, char**) {
  share_small_work(true);  // so that little of it shows races
  if (argc > 1) {
    race();
    return 0;
  }
  const auto work = [] {
    multiply_matrices();
    convert_matrices();
  };
  work();
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) callers.emplace_back(work);
  for (auto& t : callers) t.join();
  return 0;
}
