// The cells of the study: their fields, what does not exist, and each numeric
// path against a direct formula or an oracle.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "conformance/oracles/gemm_oracle.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"
#include "tools/study/error/products.hpp"
#include "tools/study/error/run.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/simd.hpp"

namespace zeroulp::study {
namespace {

cell cell_of(std::string_view settings) {
  cell c;
  set(c, settings);
  return c;
}

float as_float(std::uint32_t bits) { return bit_cast<float>(bits); }

double value_of(const codes& x, std::ptrdiff_t i, std::ptrdiff_t k) {
  const double code = to_double(decode(x.element, x.elements.view()(i, k)));
  if (x.scales.data.empty()) return code;
  const auto row = x.group.mn > 0 ? i / x.group.mn : 0;
  const auto col = x.group.k > 0 ? k / x.group.k : 0;
  return code * static_cast<double>(as_float(x.scales.view()(row, col)));
}

TEST(StudyCell, EveryFieldReadsWhatItWrites) {
  cell c = cell_of(
      "shape=kv_b.wgrad m=3 n=5 k=77 values=fp32 a.input=U(-1,3)+tokens(1000) "
      "b.input=lognormal(0.5) a.format=e5m6 b.format=int8 a.group=row "
      "b.group=1x32 a.scale=ocp b.scale=pow2_nearest a.timing=delayed1024 "
      "b.timing=average a.via=e5m6.retile b.via=retile amax_floor=1e-12 "
      "shift=0.125 age=3 smooth=yes acc=f34 interval=none seed=9 sample=2");
  cell again;
  for (const auto& f : fields()) set(again, f.name, f.get(c));
  EXPECT_EQ(values_of(again), values_of(c));
  EXPECT_EQ(values_of(again)[0], "kv_b.wgrad");
  EXPECT_EQ(again.k, 77);
  EXPECT_EQ(again.a.from.factor, 1000);
  EXPECT_EQ(again.b.when.rule, history_rule::moving_average);
}

TEST(StudyCell, AFieldWithoutASideIsThatOfBoth) {
  const cell c = cell_of("format=e5m2 group=128x128 a.format=e4m3");
  EXPECT_EQ(c.a.element, e4m3);
  EXPECT_EQ(c.b.element, e5m2);
  EXPECT_EQ(c.a.group, block_128x128);
}

TEST(StudyCell, RefusesWhatItCannotRead) {
  for (const char* text : {"k=0",
                           "k=x",
                           "k",
                           "kk=3",
                           "input=N(0)",
                           "input=N(0,-1)",
                           "input=U(2,1)",
                           "input=N(0,1)+rows(3)",
                           "input=N(0,1)+tokens(0)",
                           "input=lognormal(99)",
                           "input=N(0,1)x",
                           "input=",
                           "format=fp64",
                           "format=ue8m0",
                           "group=1x-1",
                           "scale=fp16",
                           "timing=delayed0",
                           "timing=late",
                           "via=x",
                           "acc=f35",
                           "acc=f7",
                           "acc=13",
                           "interval=0",
                           "interval=-32",
                           "amax_floor=1",
                           "shape=o.fprop",
                           "shape=kv_b.back",
                           "values=fp16",
                           "smooth=1",
                           "seed=-1",
                           "shift=0",
                           "sample=0",
                           "m=100000"}) {
    EXPECT_THROW(cell_of(text), input_error) << text;
  }
}

TEST(StudyCell, MarksWhatDoesNotExist) {
  const auto why = [](std::string_view text) {
    return impossible(cell_of(text)).value_or("");
  };
  EXPECT_EQ(why(""), "");
  EXPECT_EQ(why("group=tensor interval=none"), "");
  EXPECT_EQ(why("group=row interval=none"), "");
  EXPECT_EQ(why("format=bf16 group=tensor scale=raw interval=none"), "");
  EXPECT_EQ(why("acc=exact interval=none"), "");
  EXPECT_NE(why("interval=none").find("need promotion"), std::string::npos);
  EXPECT_NE(why("interval=256").find("crosses"), std::string::npos);
  EXPECT_NE(why("group=1x32").find("crosses"), std::string::npos);
  EXPECT_NE(why("group=tensor interval=48").find("multiple"),
            std::string::npos);
  EXPECT_NE(why("scale=raw").find("no groups"), std::string::npos);
  EXPECT_NE(why("timing=delayed16").find("one amax"), std::string::npos);
  EXPECT_NE(why("group=tensor scale=raw timing=average").find("no amax"),
            std::string::npos);
  EXPECT_NE(why("format=int8").find("acc=exact"), std::string::npos);
  EXPECT_NE(why("a.format=e5m6").find("tensor core takes"), std::string::npos);
  EXPECT_NE(why("a.via=retile a.group=tensor").find("1x128"),
            std::string::npos);
  EXPECT_NE(why("smooth=yes b.group=tensor b.timing=delayed16").find("history"),
            std::string::npos);
}

TEST(StudyDistribution, ExponentialAndSwigluAreTheirFormulas) {
  const auto normal = parse_distribution("N(0,2)");
  const auto log = parse_distribution("lognormal(2)");
  const auto swiglu = parse_distribution("swiglu(2)");
  double least = 1e300, most = -1e300;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const double z = draw(normal, 5, i);
    EXPECT_NEAR(draw(log, 5, i) / std::exp(z), 1, 1e-14);
    const double u = draw(swiglu, 5, i) * (1 + std::exp(-z)) / z;
    least = std::min(least, u);
    most = std::max(most, u);
  }
  EXPECT_LT(least, -4);  // u is N(0,2), not z again
  EXPECT_GT(most, 4);
}

TEST(StudyDistribution, NamesAreRead) {
  for (const char* name : {"N(0,1)", "N(0.25,1)", "N(0,1e-09)", "U(0,1)",
                           "U(-1,1)", "lognormal(1)", "swiglu(4)"}) {
    EXPECT_EQ(name_of(parse_distribution(name)), name);
  }
}

/// A .npy file of float64 numbers in the tests' directory.
std::string matrix_file(const char* name, std::size_t rows, std::size_t cols,
                        const std::vector<double>& numbers) {
  const auto path = testing::TempDir() + name;
  write_npy(path, make_array<double>({rows, cols}, numbers));
  return path;
}

TEST(StudyInputs, AMatrixIsTakenAsItIs) {
  const auto a = matrix_file("study_a.npy", 2, 3, {1, -2, 3, 0.1, 5, 6e-5});
  const auto b = matrix_file("study_b.npy", 1, 3, {1, 1, -1});
  const cell c =
      cell_of("a.input=" + a + " b.input=" + b + " values=fp32 shift=2");
  EXPECT_EQ(c.m, 2);
  EXPECT_EQ(c.n, 1);
  EXPECT_EQ(c.k, 3);
  const auto x = draw_inputs(c);
  EXPECT_EQ(as_float(x.a.view()(0, 1)), -4);
  EXPECT_EQ(as_float(x.a.view()(1, 0)), 2 * 0.1f);
  EXPECT_EQ(as_float(x.b.view()(0, 2)), -1);
  // Its field is the file and its digest, and is read again.
  const field& f = fields()[7];
  ASSERT_STREQ(f.name, "a.input");
  const auto name = f.get(c);
  EXPECT_EQ(name.substr(0, a.size() + 1), a + "@");
  EXPECT_EQ(name.size(), a.size() + 65);
  cell again;
  set(again, "a.input", name);
  EXPECT_EQ(f.get(again), name);
}

TEST(StudyInputs, AMatrixDecidesTheShape) {
  const auto a = matrix_file("study_a.npy", 2, 3, {1, -2, 3, 0.1, 5, 6e-5});
  const auto b = matrix_file("study_c.npy", 1, 2, {1, 1});
  for (const auto& text :
       {"a.input=" + a + " m=3", "a.input=" + a + " k=128",
        "a.input=" + a + " shape=kv_b.fprop", "shape=kv_b.fprop a.input=" + a,
        "a.input=" + a + " b.input=" + b}) {
    EXPECT_THROW(cell_of(text), input_error) << text;
  }
  EXPECT_NE(
      impossible(cell_of("a.input=" + a + " a.group=tensor a.timing=delayed4"))
          .value_or("")
          .find("no history"),
      std::string::npos);
}

TEST(StudyInputs, OutliersStandWhereTheyShould) {
  const auto ratio = [](const char* settings, std::ptrdiff_t i,
                        std::ptrdiff_t k) {
    const std::string base = "m=64 n=1 k=300 values=fp32 ";
    const auto plain = draw_inputs(cell_of(base));
    const auto other = draw_inputs(cell_of(base + settings));
    return as_float(other.a.view()(i, k)) / as_float(plain.a.view()(i, k));
  };
  EXPECT_NEAR(ratio("a.input=N(0,1)+channels(100)", 5, 37), 100, 1e-4);
  EXPECT_EQ(ratio("a.input=N(0,1)+channels(100)", 37, 5), 1);
  EXPECT_NEAR(ratio("a.input=N(0,1)+tokens(1000)", 37, 5), 1000, 1e-3);
  EXPECT_EQ(ratio("a.input=N(0,1)+tokens(1000)", 5, 37), 1);
  EXPECT_NEAR(ratio("pass=wgrad a.input=N(0,1)+tokens(1000)", 5, 37), 1000,
              1e-3);
  EXPECT_NEAR(ratio("a.input=N(0,1)+single(10)", 4099 / 300, 4099 % 300), 10,
              1e-5);
  EXPECT_EQ(ratio("a.input=N(0,1)+single(10)", 0, 0), 1);
}

TEST(StudyQuantize, Int8IsTheDirectFormula) {
  const cell c = cell_of("m=4 n=1 k=300 format=int8 acc=exact values=fp32");
  const auto x = draw_inputs(c);
  const auto q = quantize_side(c, c.a, x.a, {});
  for (std::ptrdiff_t i = 0; i < 4; ++i) {
    for (std::ptrdiff_t k = 0; k < 300; ++k) {
      float amax = 0;
      for (auto j = k / 128 * 128;
           j < std::min<std::ptrdiff_t>(300, k / 128 * 128 + 128); ++j) {
        amax = std::max(amax, std::fabs(as_float(x.a.view()(i, j))));
      }
      const float s = amax / 127;
      // The quotient in FP64 is far from a tie of the exact one.
      const double wanted = std::fmin(
          127, std::nearbyint(
                   std::fabs(static_cast<double>(as_float(x.a.view()(i, k)))) /
                   static_cast<double>(s)));
      EXPECT_EQ(as_float(q.scales.view()(i, k / 128)), s);
      EXPECT_EQ(std::fabs(to_double(decode(int8, q.elements.view()(i, k)))),
                wanted);
    }
  }
}

TEST(StudyQuantize, Ue8m0ScalesAreTheirFormulas) {
  const cell base = cell_of(
      "m=64 n=1 k=256 values=fp32 group=1x32 interval=32 input=lognormal(3)");
  const auto x = draw_inputs(base);
  for (const bool floor : {true, false}) {
    cell c = base;
    set(c, "scale", floor ? "ocp" : "pow2");
    const auto q = quantize_side(c, c.a, x.a, {});
    for (std::ptrdiff_t i = 0; i < 64; ++i) {
      for (std::ptrdiff_t g = 0; g < 8; ++g) {
        float amax = 0;
        for (auto k = 32 * g; k < 32 * g + 32; ++k) {
          amax = std::max(amax, std::fabs(as_float(x.a.view()(i, k))));
        }
        // OCP MX 6.3: floor(log2(amax)) - emax, emax of E4M3 being 8.
        const int e = floor ? std::ilogb(amax) - 8
                            : static_cast<int>(std::ceil(
                                  std::log2(static_cast<double>(amax) / 448)));
        EXPECT_EQ(as_float(q.scales.view()(i, g)), std::ldexp(1.0f, e));
      }
    }
  }
}

TEST(StudyQuantize, AFloorIsAppliedBeforeTheOcpRule) {
  cell c = cell_of(
      "m=1 n=1 k=32 values=fp32 group=1x32 interval=32 scale=ocp "
      "amax_floor=1e-4 input=N(0,1e-09)");
  const auto q = quantize_side(c, c.a, draw_inputs(c).a, {});
  EXPECT_EQ(as_float(q.scales.data[0]), std::ldexp(1.0f, -14 - 8));
}

TEST(StudyQuantize, DelayedScalesFollowTheAmaxesBefore) {
  cell c = cell_of(
      "m=8 n=1 k=64 values=fp32 group=tensor timing=delayed4 shift=8 age=1");
  const auto history = amax_history(c, true);
  ASSERT_EQ(history.size(), 4U);
  cell longer = c;
  longer.m = 12;
  longer.shift = 1;
  const auto rows = draw_inputs(longer);
  const auto amax_from = [&](std::ptrdiff_t first) {
    float amax = 0;
    for (auto i = first; i < first + 8; ++i) {
      for (std::ptrdiff_t k = 0; k < 64; ++k) {
        amax = std::max(amax, std::fabs(as_float(rows.a.view()(i, k))));
      }
    }
    return amax;
  };
  // Oldest first; a step ago the shift had happened.
  for (std::ptrdiff_t ago = 4; ago >= 1; --ago) {
    EXPECT_EQ(as_float(history[static_cast<std::size_t>(4 - ago)]),
              amax_from(ago) * (ago == 1 ? 8 : 1));
  }
  const auto q = quantize_side(c, c.a, draw_inputs(c).a, history);
  float largest = 0;
  for (const auto h : history) largest = std::max(largest, as_float(h));
  EXPECT_EQ(as_float(q.scales.data[0]), largest / 448);
}

TEST(StudyQuantize, ByWayOfE5m6RoundsTwice) {
  cell c = cell_of("m=16 n=1 k=256 a.scale=pow2 a.via=e5m6");
  const auto x = draw_inputs(c);
  const auto twice = quantize_side(c, c.a, x.a, {});
  c.a.via = passage::direct;
  const auto once = quantize_side(c, c.a, x.a, {});
  int changed = 0;
  for (std::ptrdiff_t i = 0; i < 16; ++i) {
    for (std::ptrdiff_t k = 0; k < 256; ++k) {
      // E5M6's scale is a power of two: 6 fraction bits of the value.
      const double v = static_cast<double>(as_float(x.a.view()(i, k)));
      const double grid = std::ldexp(1.0, std::ilogb(v) - 6);
      const double middle = std::nearbyint(v / grid) * grid;
      const double s =
          static_cast<double>(as_float(twice.scales.view()(i, k / 128)));
      EXPECT_EQ(twice.elements.view()(i, k),
                encode(e4m3, decode(middle / s), {}, cuda_satfinite));
      changed += value_of(twice, i, k) != value_of(once, i, k) ? 1 : 0;
    }
  }
  EXPECT_NEAR(changed / 4096.0, 1.0 / 16, 0.015);
}

TEST(StudySmooth, LeavesProductsAsTheyAre) {
  const cell c = cell_of("m=8 n=8 k=256 a.input=N(0,1)+channels(100)");
  cell smooth = c;
  smooth.smooth = true;
  const auto x = draw_inputs(c), y = draw_inputs(smooth);
  for (std::ptrdiff_t k = 0; k < 256; ++k) {
    float amax = 0;
    for (std::ptrdiff_t i = 0; i < 8; ++i) {
      amax = std::max(amax, std::fabs(as_float(y.a.view()(i, k))));
      EXPECT_EQ(as_float(x.a.view()(i, k)) * as_float(x.b.view()(i, k)),
                as_float(y.a.view()(i, k)) * as_float(y.b.view()(i, k)));
    }
    EXPECT_GE(amax, 0.5f);
    EXPECT_LT(amax, 1.0f);
  }
}

TEST(StudyProducts, AreTheEnginesForE4m3AndADirectSumWithScales) {
  const cell c = cell_of("m=33 n=20 k=300 group=tensor scale=raw");
  const auto x = draw_inputs(c);
  const auto a = quantize_side(c, c.a, x.a, {});
  const auto b = quantize_side(c, c.b, x.b, {});
  const prepared_operand pa(e4m3, a.elements.view());
  const prepared_operand pb(e4m3, b.elements.view());
  dense<double> ours(33, 20), exact(33, 20);
  reference_products({&pa, per_tensor, {}}, {&pb, per_tensor, {}}, ours.view());
  engine::exact_products(pa, pb, exact.view());
  EXPECT_EQ(ours.data, exact.data);

  const cell d = cell_of("m=33 n=20 k=300");
  const auto sa = quantize_side(d, d.a, x.a, {});
  const auto sb = quantize_side(d, d.b, x.b, {});
  const prepared_operand qa(e4m3, sa.elements.view());
  const prepared_operand qb(e4m3, sb.elements.view());
  reference_products({&qa, sa.group, sa.scales.view()},
                     {&qb, sb.group, sb.scales.view()}, ours.view());
  for (std::ptrdiff_t i = 0; i < 33; ++i) {
    for (std::ptrdiff_t j = 0; j < 20; ++j) {
      long double sum = 0, size = 0;
      for (std::ptrdiff_t k = 0; k < 300; ++k) {
        const auto one = static_cast<long double>(value_of(sa, i, k)) *
                         static_cast<long double>(value_of(sb, j, k));
        sum += one;
        size += std::fabs(one);
      }
      EXPECT_NEAR(ours.view()(i, j), static_cast<double>(sum),
                  static_cast<double>(1e-15L * size));
    }
  }
}

// Every accumulator and grouping of a cell, against the rational oracle.
TEST(StudyGemm, EveryCellsProductIsTheOracles) {
  for (const char* settings :
       {"", "group=tensor interval=none", "group=row interval=none",
        "group=tensor scale=raw interval=none acc=f8",
        "group=tensor scale=raw interval=none acc=f14",
        "group=tensor scale=raw interval=none acc=f19",
        "group=tensor scale=raw interval=none acc=f25",
        "group=tensor scale=raw interval=none acc=f34", "acc=f16 interval=64",
        "acc=fp32", "acc=fp32 group=tensor interval=none",
        "group=1x32 scale=ocp interval=32", "group=1x32 scale=pow2 interval=32",
        "a.format=e5m2 a.input=N(0,1e-09)", "group=128x128",
        "pass=wgrad b.group=1x128 a.via=e5m6.retile a.scale=pow2",
        "format=bf16 group=tensor scale=raw interval=none",
        "format=e5m6 acc=f25"}) {
    cell c = cell_of("m=5 n=4 k=200");
    set(c, settings);
    ASSERT_FALSE(impossible(c)) << *impossible(c);
    const auto x = draw_inputs(c);
    const auto a = quantize_side(c, c.a, x.a, {});
    const auto b = quantize_side(c, c.b, x.b, {});
    const auto d = multiply(c, a, b).d;
    dense<std::uint32_t> wanted(5, 4);
    const auto operand_of = [](const codes& o) {
      gemm_operand<std::uint32_t> out{o.element, o.elements.view()};
      if (!o.scales.data.empty()) out.scales = o.scales.view();
      return out;
    };
    oracle::promoted_gemm(recipe_of(c), operand_of(a), operand_of(b), {},
                          wanted.view());
    EXPECT_EQ(d.data, wanted.data) << settings;
  }
}

TEST(StudyRunner, GivesTheSameWithTheDefinitionItself) {
  const auto before = engine::current_simd();
  for (const char* settings :
       {"", "group=tensor interval=none input=U(0,1)", "a.via=retile",
        "format=int8 acc=exact", "group=tensor timing=average shift=2"}) {
    cell c = cell_of("m=6 n=7 k=160");
    set(c, settings);
    runner fast;
    const auto x = fast.run(c);
    engine::use_simd(engine::simd::reference);
    runner slow;
    const auto y = slow.run(c);
    engine::use_simd(before);
    for (const auto& m : metrics()) {
      EXPECT_EQ(m.of(x), m.of(y)) << settings << " " << m.name;
    }
    EXPECT_EQ(x.digest, y.digest) << settings;
  }
}

/// A GPU that is right, but for output (row, col) of products with rows to
/// spare: one bit of it is not.
multiplier gpu_with_a_fault(std::ptrdiff_t row, std::ptrdiff_t col) {
  return [row, col](const recipe& r, const gemm_operand<std::uint32_t>& a,
                    const gemm_operand<std::uint32_t>& b,
                    matrix_view<std::uint32_t> d) {
    multiply_on_cpu(r, a, b, d);
    if (row < d.rows && col < d.cols) d(row, col) ^= 1;
    return std::string("fake");
  };
}

TEST(StudyRunner, HoldsTheGpuAgainstTheCpu) {
  const cell c = cell_of("m=9 n=7 k=160");
  runner cpu, right(gpu_with_a_fault(9, 7)), wrong(gpu_with_a_fault(8, 6));
  const auto x = cpu.run(c), y = right.run(c), z = wrong.run(c);
  EXPECT_EQ(x.by, "CPU");
  EXPECT_EQ(x.both.compared, 0);
  EXPECT_EQ(y.by, "fake");
  EXPECT_EQ(y.both.compared, 63);
  EXPECT_EQ(y.both.differing, 0);
  EXPECT_EQ(x.digest, y.digest);
  EXPECT_EQ(z.both.differing, 1);
  EXPECT_NE(z.digest, y.digest);
  EXPECT_EQ(z.both.first.substr(0, 23), "output (8, 6) of 9 x 7 ");
  // Of an exact sum there is nothing for a GPU to compute.
  EXPECT_EQ(wrong.run(cell_of("m=9 n=7 k=160 acc=exact")).both.compared, 0);
}

TEST(StudyRunner, TheDigestIsThatOfTheBits) {
  const auto one = matrix_file("study_1.npy", 1, 2, {1, 1});
  const cell c = cell_of("input=" + one + " group=tensor scale=raw");
  // sha256sum of bytes 00 00 00 40, which are 1 + 1
  EXPECT_EQ(runner().run(c).digest,
            "d88c86f15bbea365d658ad95a81d45367c465f7af6f7264fb077f01747ddc77d");
}

TEST(StudyRunner, MeasuresTheFirstOutputs) {
  const cell all = cell_of("m=150 n=140 k=160 group=128x128");
  cell some = all;
  some.sample = 40;
  cell alone = some;
  alone.m = alone.n = 40;
  // Their codes are those of the whole: it is more than the cell of 40 x 40.
  const auto x = runner(gpu_with_a_fault(149, 139)).run(some);
  EXPECT_EQ(x.both.compared, 1600);
  EXPECT_EQ(x.both.differing, 0);
  EXPECT_EQ(runner(gpu_with_a_fault(39, 39)).run(some).both.differing, 1);
  EXPECT_EQ(runner().run(some).digest, x.digest);
  EXPECT_NE(runner().run(some).digest, runner().run(all).digest);
  EXPECT_NE(runner().run(some).total.frobenius,
            runner().run(all).total.frobenius);
  EXPECT_NE(x.total.frobenius, runner().run(alone).total.frobenius);
}

TEST(StudyRunner, DoesNotDependOnWhatRanBefore) {
  const cell c = cell_of("m=8 n=8 k=128");
  runner one;
  const auto alone = one.run(c);
  for (const char* other : {"seed=1", "k=256", "a.input=U(0,1)", "smooth=yes",
                            "shape=q_b.fprop k=128", "values=fp32"}) {
    cell d = c;
    set(d, other);
    EXPECT_NE(one.run(d).total.frobenius, 0) << other;
  }
  EXPECT_EQ(one.run(c).total.frobenius, alone.total.frobenius);
  EXPECT_EQ(one.run(c).quantization.bias, alone.quantization.bias);
}

}  // namespace
}  // namespace zeroulp::study
