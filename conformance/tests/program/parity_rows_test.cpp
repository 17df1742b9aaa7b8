// Parity on rows that were not looked at first, outputs of one value, lost
// scales, kernels that fuse two operators, and element types.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "conformance/tests/program/parity_pass.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::parity {
namespace {

constexpr const char* block = R"({"operators": [
  {"name": "norm", "is": "rms_norm", "with": "from=bf16,value=bf16",
   "reads": {"x": "x", "w": "gain"}, "makes": {"y": "normed"}},
  {"name": "quantize", "is": "quantize", "with": "from=bf16,group=1x128",
   "reads": {"x": "normed"}, "makes": {"scales": "q.scale", "codes": "q"}},
  {"name": "up", "is": "gemm", "with": "recipe=deepgemm.1d2d,output=bf16",
   "reads": {"a": "q", "a_scales": "q.scale", "b": "w", "b_scales": "w.scale"},
   "makes": {"d": "d"}},
  {"name": "rope", "is": "rope", "with":
   "heads=2,length=128,pairs=halves,from=bf16,value=bf16",
   "reads": {"x": "d"}, "makes": {"y": "out"}}]})";

class ParityOfRows : public pass_of_dumps {
 protected:
  static constexpr std::ptrdiff_t tokens = 384, columns = 256;

  ParityOfRows() : pass_of_dumps(block) {
    inputs_["x"] = drawn("x", bf16, tokens, columns, 1, -4);
    inputs_["gain"] = drawn("gain", bf16, 1, columns, 2, 0);
    add_weight("w", columns, columns, 3);
    make_a();
  }

  static answer with_eps(std::uint64_t eps) {
    return [eps](problem p) {
      p.in[2].words[0] = eps;
      return claimed_outputs(p);
    };
  }

  /// Head 1 is left as it was from a row on.
  static answer still_from(std::ptrdiff_t row) {
    return [row](const problem& p) {
      outputs all = claimed_outputs(p);
      for (std::ptrdiff_t i = row; i < all[0].rows; ++i) {
        for (std::ptrdiff_t j = columns / 2; j < columns; ++j) {
          all[0](i, j) = p.in[0](i, j);
        }
      }
      return all;
    };
  }
};

/// The norm differs from row 0 on, the rope behind it from row 256 on.
TEST_F(ParityOfRows, ASecondRuleInLaterRowsIsNamed) {
  write("b", pass({{"norm", with_eps(0x3727c5ac)}, {"rope", still_from(256)}}));
  const parity_report r = compared();
  EXPECT_EQ(r.first_rule, "norm");
  const operator_report& rope = report_of(r, "rope");
  EXPECT_EQ(rope.said, state::differs);
  EXPECT_EQ(rope.b.name, "head 1 not rotated");
  ASSERT_EQ(rope.parts.size(), 2u);
  EXPECT_EQ(rope.parts[0].end, 256u);
  EXPECT_EQ(rope.parts[0].b.name, "as claimed");
  EXPECT_EQ(rope.checked, std::uint64_t{tokens});
  EXPECT_TRUE(r.is_checked());
  EXPECT_EQ(r.all_rules, 1) << r.why_no_shares;
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> both{{0, 128},
                                                                  {256, 384}};
  EXPECT_EQ(r.share_rows, both);
}

/// With all rows at once, too.
TEST_F(ParityOfRows, ARuleOfSomeOfAllRowsIsNamed) {
  write("b", pass({{"rope", still_from(256)}}));
  const parity_report r = compared(0);
  EXPECT_EQ(report_of(r, "rope").b.name, "head 1 not rotated");
  EXPECT_EQ(report_of(r, "rope").parts.size(), 2u);
  EXPECT_EQ(r.all_rules, 1) << r.why_no_shares;
}

/// A rule that differs before the rows on which it was found.
TEST_F(ParityOfRows, ARuleIsCheckedInRowsThatAreEqual) {
  const parity_report r = compared_with("rope", still_from(128));
  const operator_report& rope = report_of(r, "rope");
  EXPECT_EQ(rope.b.name, "head 1 not rotated");
  ASSERT_EQ(rope.parts.size(), 2u);
  EXPECT_EQ(rope.parts[0].b.name, "as claimed");
}

/// Conventions that differ in small groups alone, which later rows have.
TEST_F(ParityOfRows, ARuleThatHoldsEverywhereComesFirst) {
  matrix& x = inputs_["x"];
  for (std::ptrdiff_t i = 256; i < tokens; ++i) {
    for (std::ptrdiff_t j = 0; j < columns; ++j) {
      x(i, j) = (x(i, j) & 0x807f) | 0x2800;  // near 1e-14
    }
  }
  make_a();
  for (const char* const convention : {"vllm", "transformer_engine"}) {
    const parity_report r = compared_with("quantize", [convention](problem p) {
      p.with.how = parse_convention(convention);
      p.with.scale = scale_kind::pow2;
      return claimed_outputs(p);
    });
    const operator_report& o = report_of(r, "quantize");
    EXPECT_EQ(o.parts.size(), 1u);
    EXPECT_TRUE(is_named(o.b, std::string(convention) + ", scales pow2"))
        << o.b.name;
  }
}

TEST_F(ParityOfRows, RowsThatWereNotCheckedAreCounted) {
  write("b", pass({{"norm", with_eps(0x3727c5ac)}, {"rope", still_from(256)}}));
  parity_options how;
  how.checked = 128;
  const parity_report r =
      compare(chain_, dump(path_ / "a", {}), dump(path_ / "b", {}), how);
  EXPECT_EQ(report_of(r, "rope").said, state::inherited);
  EXPECT_EQ(report_of(r, "rope").checked, 128u);
  EXPECT_FALSE(r.is_checked());
}

TEST_F(ParityOfRows, OutputsOfOneValueAreNamed) {
  const auto filled = [](std::size_t output, std::uint64_t word) {
    return [=](const problem& p) {
      outputs all = claimed_outputs(p);
      for (auto& w : all[output].words) w = word;
      return all;
    };
  };
  const auto name_of_b = [&](const char* in, const answer& a) {
    return report_of(compared_with(in, a), in).b.name;
  };
  EXPECT_EQ(name_of_b("rope", filled(0, 0)), "y all 0");
  EXPECT_EQ(name_of_b("up", filled(0, 0x3f80)), "d all 1");
  EXPECT_EQ(name_of_b("quantize", filled(0, fp32_one)), "scales all 1");
}

/// One scale is 1: in the dump, already for the codes, in the GEMM alone.
TEST_F(ParityOfRows, OneLostScaleIsNamed) {
  const auto in_dump = [](const problem& p) {
    outputs all = claimed_outputs(p);
    all[0](200, 1) = fp32_one;
    return all;
  };
  const auto for_codes = [&in_dump](const problem& p) {
    outputs all = in_dump(p);
    all[1] = fuzz::codes_by_scales(p, all[0]);
    return all;
  };
  const auto in_gemm = [](std::size_t operand, std::ptrdiff_t row) {
    return [=](problem p) {
      p.in[operand](row, 1) = fp32_one;
      return claimed_outputs(p);
    };
  };
  const std::tuple<const char*, answer, const char*> lost[] = {
      {"quantize", in_dump, "scale (200, 1) is 1"},
      {"quantize", for_codes, "scale (200, 1) is 1, codes too"},
      {"up", in_gemm(2, 200), "a_scales(200, 1) is 1"},
      {"up", in_gemm(3, 1), "b_scales(1, 1) is 1"}};
  for (const auto& [in, fault, name] : lost) {
    const parity_report r = compared_with(in, fault);
    EXPECT_EQ(report_of(r, in).b.name, name);
    EXPECT_EQ(r.all_rules, 1) << name;
  }
}

/// The quantizer reads the norm's numbers before they are BF16.
TEST_F(ParityOfRows, AFusedNormAndQuantizerIsNamed) {
  const auto fused = [this](const problem& p) {
    problem norm = problem_from(a_, chain_[0]);
    norm.with.value = fp32;
    problem q = p;
    q.with.from = fp32;
    for (matrix& y : claimed_outputs(norm)) {
      if (y.name == std::string_view("y")) q.in[0].words = y.words;
    }
    q.in[0].type = fp32;
    return claimed_outputs(q);
  };
  const parity_report r = compared_with("quantize", fused);
  EXPECT_EQ(report_of(r, "quantize").b.name, "x not rounded");
  EXPECT_EQ(report_of(r, "up").said, state::inherited);
  EXPECT_EQ(r.all_rules, 1);
}

/// inv_freq, the angle, its cosine and its sine in FP32, each rounded once.
TEST_F(ParityOfRows, AnglesInFp32AreNamed) {
  inputs_["d"] = drawn("d", bf16, tokens, columns, 5, 0);
  std::ofstream(path_ / "chain.json") << R"({"operators": [
    {"name": "rope", "is": "rope", "with":
     "heads=2,pairs=halves,from=bf16,value=fp32",
     "reads": {"x": "d"}, "makes": {"y": "out"}}]})";
  chain_ = read_chain(path_ / "chain.json");
  make_a();
  const auto torch = [](const problem& p) {
    matrix y("y", fp32, tokens, columns);
    constexpr std::ptrdiff_t width = columns / 2, half = width / 2;
    const auto number = [](std::uint64_t word) {
      return static_cast<float>(to_double(decode(bf16, word)));
    };
    for (std::ptrdiff_t i = 0; i < tokens; ++i) {
      for (std::ptrdiff_t j = 0; j < columns; ++j) {
        const auto k = j % width % half;
        const float share =
            2 * static_cast<float>(k) / static_cast<float>(width);
        const auto power =
            static_cast<float>(std::pow(10000.0, static_cast<double>(share)));
        const float f = 1 / power;
        const double angle = static_cast<float>(i) * f;
        const auto c = static_cast<float>(std::cos(angle));
        const auto s = static_cast<float>(std::sin(angle));
        const bool is_first = j % width < half;
        const float x = number(p.in[0](i, j));
        const float z = number(p.in[0](i, is_first ? j + half : j - half));
        const float one = x * c, other = (is_first ? -z : z) * s;
        y(i, j) = bit_cast<std::uint32_t>(one + other);
      }
    }
    return outputs{y};
  };
  EXPECT_EQ(report_of(compared_with("rope", torch), "rope").b.name,
            "fp32 angles, products rounded apart");
}

/// A weight that has as many rows as the pass is read by all of them.
TEST_F(ParityOfRows, AWeightThatDiffersInALateRowIsAnInputOfAll) {
  std::ofstream(path_ / "chain.json") << R"({"operators": [
    {"name": "up", "is": "gemm", "with": "recipe=deepgemm.1d2d,output=bf16",
     "reads": {"a": "w", "a_scales": "s", "b": "v", "b_scales": "v.scale"},
     "makes": {"d": "d"}}]})";
  chain_ = read_chain(path_ / "chain.json");
  inputs_.clear();
  add_weight("v", tokens, columns, 7);
  inputs_["w"] = inputs_["v"];
  inputs_["s"] = matrix("s", fp32, tokens, columns / 128, fp32_one);
  make_a();
  const tensors kept = inputs_;
  inputs_["v"](300, 5) ^= 1;
  write("b", pass({}));
  inputs_ = kept;
  const parity_report r = compared();
  EXPECT_TRUE(r.is_input);
  EXPECT_EQ(report_of(r, "up").said, state::inherited);
  EXPECT_EQ(r.first_rule, "");
}

/// A weight in the dump that is not the one that was used.
TEST_F(ParityOfRows, AWeightThatWasNotUsedIsNamed) {
  tensors b = a_;
  for (auto& word : b["gain"].words) word ^= 8;
  write("b", b);
  const parity_report r = compared();
  const operator_report& norm = report_of(r, "norm");
  EXPECT_EQ(norm.said, state::differs);
  EXPECT_EQ(norm.b.name, "w of the other side");
  EXPECT_NE(norm.b.what.find("do not follow from the w"), std::string::npos);
}

/// Nine of ten is said, with the rows that are whole.
TEST_F(ParityOfRows, ARuleOfMostElementsIsNear) {
  const auto mostly = [](const problem& p) {
    outputs right = claimed_outputs(p), all = right;
    problem q = p;
    q.rope.halves = false;
    all = claimed_outputs(q);
    for (std::ptrdiff_t i = 0; i < tokens; i += 25) {
      for (std::ptrdiff_t j = 0; j < columns; ++j) {
        all[0](i, j) = right[0](i, j);
      }
    }
    return all;
  };
  const parity_report r = compared_with("rope", mostly);
  const rule& by = report_of(r, "rope").b;
  EXPECT_EQ(by.name, "pairs adjacent");
  EXPECT_FALSE(by.is_exact());
  EXPECT_NE(by.near.find("of 128 rows"), std::string::npos) << by.near;
  ASSERT_GE(by.where.size(), 2u);
  EXPECT_NE(by.where[0].find(", by the rule "), std::string::npos);
  EXPECT_EQ(by.near.find("100"), std::string::npos);
}

constexpr const char* typed = R"({"operators": [
  {"name": "add", "is": "residual", "reads": {"x": "x", "r": "r"},
   "makes": {"y": "h"}}]})";

class ParityOfTypes : public pass_of_dumps {
 protected:
  ParityOfTypes() : pass_of_dumps(typed) {}

  struct stored {
    const char* name;
    dtype type;
    std::vector<std::uint32_t> words;
  };
  void write_typed(const std::string& side, std::size_t cols,
                   const std::vector<stored>& all) const {
    output_set files(path_ / side);
    for (const stored& t : all) {
      array a{t.type, {t.words.size() / cols, cols}, {}};
      const int bytes = t.type == dtype::f32 ? 4 : 2;
      for (const std::uint32_t word : t.words) {
        for (int i = 0; i < bytes; ++i) {
          a.data.push_back(static_cast<std::byte>(word >> (8 * i)));
        }
      }
      files.add(std::string(t.name) + ".npy", a);
    }
    files.commit();
  }
};

/// A stores h in FP32, B in FP16: each by the claim, and not the same.
TEST_F(ParityOfTypes, ADifferenceOfTypesIsNamed) {
  const std::vector<std::uint32_t> x{0x3f800000, 0x40490fdb};
  const std::vector<std::uint32_t> zero{0, 0};
  write_typed(
      "a", 2,
      {{"x", dtype::f32, x}, {"r", dtype::f32, zero}, {"h", dtype::f32, x}});
  write_typed("b", 2,
              {{"x", dtype::f32, x},
               {"r", dtype::f32, zero},
               {"h", dtype::f16, {0x3c00, 0x4248}}});
  const parity_report r = compared();
  const operator_report& o = report_of(r, "add");
  EXPECT_EQ(o.said, state::differs);
  EXPECT_EQ(o.a.name, "h as fp32");
  EXPECT_EQ(o.b.name, "h as fp16");
  EXPECT_EQ(o.makes[0].by.type_b, "F16");
}

/// Inf is Inf, not the largest number.
TEST_F(ParityOfTypes, InfinityStaysItself) {
  const std::vector<std::uint32_t> x{0x7f800000, 0x3f800000};
  const std::vector<std::uint32_t> zero{0, 0};
  const std::vector<std::uint32_t> largest{0x7f7fffff, 0x3f800000};
  write_typed(
      "a", 2,
      {{"x", dtype::f32, x}, {"r", dtype::f32, zero}, {"h", dtype::f32, x}});
  write_typed("b", 2,
              {{"x", dtype::f32, x},
               {"r", dtype::f32, zero},
               {"h", dtype::f32, largest}});
  const operator_report o = report_of(compared(), "add");
  EXPECT_EQ(o.a.name, "as claimed");
  EXPECT_NE(o.b.name, "as claimed");
}

}  // namespace
}  // namespace zeroulp::parity
