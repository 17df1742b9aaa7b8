// Parity of kernels that fuse three operators, of ropes by another library's
// cosines, and shares where a rule is unknown or of some rows.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "conformance/tests/program/parity_pass.hpp"
#include "tools/zeroulp/parity/text.hpp"

namespace zeroulp::parity {
namespace {

constexpr std::ptrdiff_t fit_tokens = 384, fit_columns = 256;

constexpr const char* gated = R"({"operators": [
  {"name": "up", "is": "gemm", "with": "recipe=deepgemm.1d2d,output=bf16",
   "reads": {"a": "q", "a_scales": "q.scale", "b": "w", "b_scales": "w.scale"},
   "makes": {"d": "gate"}},
  {"name": "swiglu", "is": "swiglu", "reads": {"g": "gate", "u": "u"},
   "makes": {"h": "h"}},
  {"name": "quantize", "is": "quantize", "with": "from=bf16,group=1x128",
   "reads": {"x": "h"}, "makes": {"scales": "p.scale", "codes": "p"}},
  {"name": "down", "is": "gemm", "with": "recipe=deepgemm.1d2d",
   "reads": {"a": "p", "a_scales": "p.scale", "b": "v", "b_scales": "v.scale"},
   "makes": {"d": "out"}}]})";

class ParityOfAGate : public pass_of_dumps {
 protected:
  ParityOfAGate() : pass_of_dumps(gated) {
    add_weight("q", fit_tokens, fit_columns, 1);
    inputs_["q.scale"] =
        drawn("q.scale", fp32, fit_tokens, fit_columns / 128, 2, -6);
    for (auto& word : inputs_["q.scale"].words) word &= 0x7fffffff;
    add_weight("w", fit_columns, fit_columns, 3);
    add_weight("v", fit_columns, fit_columns, 4);
    inputs_["u"] = drawn("u", bf16, fit_tokens, fit_columns, 5, 0);
    make_a();
  }

  /// The FP32 output of an operator, on other operands.
  static matrix in_fp32(problem p, const char* output) {
    EXPECT_TRUE(keep_fp32(p, output));
    for (matrix& x : claimed_outputs(p)) {
      if (x.name == std::string_view(output)) return x;
    }
    return {};
  }
};

/// One kernel has the sums of the GEMM, the gate and the codes.
TEST_F(ParityOfAGate, AFusedGemmGateAndQuantizerIsNamed) {
  const auto fused = [this](bool all_three) {
    return [this, all_three](const problem& p) {
      problem gate = problem_from(a_, chain_[1]);
      if (all_three) {
        gate.with.from = fp32;
        gate.in[0] = in_fp32(problem_from(a_, chain_[0]), "d");
        for (auto& word : gate.in[1].words) word = recode(bf16, word, fp32);
        gate.in[1].type = fp32;
      }
      problem q = p;
      q.with.from = fp32;
      q.in[0] = in_fp32(gate, "h");
      return claimed_outputs(q);
    };
  };
  const std::pair<bool, const char*> kernels[] = {
      {false, "x not rounded"},
      {true, "x not rounded, nor what it is made of"}};
  for (const auto& [all_three, name] : kernels) {
    const parity_report r = compared_with("quantize", fused(all_three));
    EXPECT_EQ(report_of(r, "quantize").b.name, name);
    EXPECT_EQ(report_of(r, "down").said, state::inherited);
    EXPECT_EQ(r.all_rules, 1) << r.why_no_shares;
  }
  // The gate alone: both its operands are FP32 then.
  const parity_report r = compared_with("swiglu", [this](const problem& p) {
    problem gate = p;
    gate.with.from = fp32;
    gate.in[0] = in_fp32(problem_from(a_, chain_[0]), "d");
    for (auto& word : gate.in[1].words) word = recode(bf16, word, fp32);
    gate.in[1].type = fp32;
    return claimed_outputs(gate);
  });
  EXPECT_EQ(report_of(r, "swiglu").b.name, "g not rounded");
}

/// What is before the rules that differ is A's own: nobody has to know it.
TEST_F(ParityOfAGate, SharesNeedNoRuleOfWhatIsTheSame) {
  const tensors kept = a_;
  counter_rng rng(9, 0);
  for (auto& word : a_["gate"].words) word ^= rng.below(8);
  tensors a = a_, b = a_;
  const auto again = [&](tensors& all, const answer& quantize) {
    for (std::size_t i = 1; i < chain_.size(); ++i) {
      const problem p = problem_from(all, chain_[i]);
      for (const matrix& x : i == 2 ? quantize(p) : claimed_outputs(p)) {
        for (const auto& [output, tensor] : chain_[i].makes) {
          if (output == x.name) all[tensor] = x;
        }
      }
    }
  };
  again(a, claimed_outputs);
  again(b, by_settings([](auto& s) { s.scale = scale_kind::pow2; }));
  write("a", a);
  write("b", b);
  const parity_report r = compared();
  EXPECT_FALSE(report_of(r, "up").a.is_exact());
  EXPECT_EQ(r.first_rule, "quantize");
  EXPECT_EQ(r.all_rules, 1) << r.why_no_shares;
  EXPECT_EQ(report_of(r, "quantize").share, 1);
}

/// A rule that nobody knows has no share; the others have theirs.
TEST_F(ParityOfAGate, AnUnknownRuleHasNoShare) {
  const auto noise = [](const problem& p) {
    outputs all = claimed_outputs(p);
    counter_rng rng(9, 0);
    for (auto& word : all[0].words) word ^= rng.below(1 << 20);
    return all;
  };
  write("b", pass({{"quantize",
                    by_settings([](auto& s) { s.scale = scale_kind::pow2; })},
                   {"down", noise}}));
  const parity_report r = compared();
  EXPECT_FALSE(report_of(r, "down").b.is_known());
  ASSERT_TRUE(r.all_rules) << r.why_no_shares;
  EXPECT_LT(*r.all_rules, 1);
  EXPECT_TRUE(report_of(r, "quantize").share);
  EXPECT_EQ(r.no_share, std::vector<std::string>{"down"});
  EXPECT_NE(program::text_of(r).find("that is without down: B's rule"),
            std::string::npos);
}

constexpr const char* turned_heads = R"({"operators": [
  {"name": "rope", "is": "rope", "with":
   "heads=2,pairs=halves,length=300,from=bf16,value=fp32",
   "reads": {"x": "x"}, "makes": {"y": "y"}},
  {"name": "add", "is": "residual", "with":
   "from=fp32,residual=bf16,value=bf16",
   "reads": {"x": "y", "r": "r"}, "makes": {"y": "z"}}]})";

class ParityOfALibrary : public pass_of_dumps {
 protected:
  ParityOfALibrary() : pass_of_dumps(turned_heads) {
    inputs_["x"] = drawn("x", bf16, fit_tokens, fit_columns, 1, 0);
    inputs_["r"] = drawn("r", bf16, fit_tokens, fit_columns, 2, 0);
    make_a();
  }

  /// Cosines and sines of FP32 angles, `worst` in the last bit from the nearest
  /// number, by a hash of position and column.
  static answer by_library(int worst, std::uint64_t seed) {
    return [=](const problem& p) {
      matrix y("y", p.with.value, p.in[0].rows, fit_columns);
      constexpr std::ptrdiff_t width = fit_columns / 2, half = width / 2;
      const auto off = [=](double exact, std::uint64_t which) {
        const auto steps =
            static_cast<int>(counter_rng(seed, which).between(-worst, worst));
        const auto word = bit_cast<std::uint32_t>(static_cast<float>(exact));
        return bit_cast<float>(word + static_cast<std::uint32_t>(steps));
      };
      const auto number = [](std::uint64_t word) {
        return static_cast<float>(to_double(decode(bf16, word)));
      };
      for (std::ptrdiff_t i = 0; i < y.rows; ++i) {
        for (std::ptrdiff_t j = 0; j < fit_columns; ++j) {
          const auto k = j % width % half;
          const auto power = static_cast<float>(
              std::pow(10000.0, static_cast<double>(2 * k) / width));
          const std::ptrdiff_t at = i % 300;
          const double angle = static_cast<float>(at) * (1 / power);
          const auto which = static_cast<std::uint64_t>(2 * (at * half + k));
          const float c = off(std::cos(angle), which);
          const float s = at == 0 ? 0 : off(std::sin(angle), which + 1);
          const bool is_first = j % width < half;
          const float x = number(p.in[0](i, j));
          const float z = number(p.in[0](i, is_first ? j + half : j - half));
          const float one = x * c, other = (is_first ? -z : z) * s;
          y(i, j) = recode(fp32, bit_cast<std::uint32_t>(one + other), y.type);
        }
      }
      return outputs{y};
    };
  }
};

/// No two libraries round cosines alike: that they are within two of the last
/// bit is what makes them cosines. All rows are checked, and shares computed.
TEST_F(ParityOfALibrary, CosinesOfAnotherLibraryAreNamed) {
  const parity_report r = compared_with("rope", by_library(2, 1));
  const operator_report& rope = report_of(r, "rope");
  EXPECT_EQ(rope.b.name,
            "fp32 angles of another library, products rounded apart");
  EXPECT_TRUE(rope.b.is_exact());
  EXPECT_EQ(rope.parts.size(), 1u);
  EXPECT_EQ(report_of(r, "add").said, state::inherited);
  EXPECT_EQ(r.all_rules, 1) << r.why_no_shares;
  // Further off they are none.
  const parity_report off = compared_with("rope", by_library(1 << 14, 1));
  EXPECT_FALSE(report_of(off, "rope").b.is_exact());
}

/// The same library on other inputs is one rule, another one is another.
TEST_F(ParityOfALibrary, TwoLibrariesAreToldApart) {
  const tensors kept = inputs_;
  write("a", pass({{"rope", by_library(2, 1)}}));
  for (auto& word : inputs_["x"].words) word ^= 1;
  write("b", pass({{"rope", by_library(2, 1)}}));
  EXPECT_EQ(report_of(compared(), "rope").said, state::inherited);
  inputs_ = kept;
  write("b", pass({{"rope", by_library(2, 2)}}));
  const operator_report other = report_of(compared(), "rope");
  EXPECT_EQ(other.said, state::differs);
  EXPECT_EQ(other.b.name, other.a.name + ", not A's");
}

/// BF16 hides most of it: the first rows have the bits of nearest cosines, too.
TEST_F(ParityOfALibrary, ARuleThatLaterRowsNeedIsThatOfAll) {
  std::string bf16_chain = turned_heads;
  for (const char* const type : {"value=fp32", "from=fp32"}) {
    const auto at = bf16_chain.find(type) + std::string(type).size() - 4;
    bf16_chain.replace(at, 4, "bf16");
  }
  std::ofstream(path_ / "chain.json") << bf16_chain;
  chain_ = read_chain(path_ / "chain.json");
  make_a();
  const parity_report r = compared_with("rope", by_library(2, 1));
  const operator_report& rope = report_of(r, "rope");
  EXPECT_EQ(rope.b.name,
            "fp32 angles of another library, products rounded apart");
  EXPECT_EQ(rope.parts.size(), 1u);
}

/// A position that comes twice has one cosine.
TEST_F(ParityOfALibrary, CosinesThatChangeAreNone) {
  const parity_report r = compared_with("rope", [](const problem& p) {
    outputs all = by_library(2, 1)(p);
    const outputs other = by_library(2, 2)(p);
    std::copy(other[0].words.begin() + 300 * fit_columns, other[0].words.end(),
              all[0].words.begin() + 300 * fit_columns);
    return all;
  });
  EXPECT_EQ(report_of(r, "rope").parts.size(), 2u);
  EXPECT_EQ(r.all_rules, 1) << r.why_no_shares;
}

constexpr const char* two_sums = R"({"operators": [
  {"name": "one", "is": "residual", "with": "residual=bf16,value=bf16",
   "reads": {"x": "x", "r": "r"}, "makes": {"y": "y"}},
  {"name": "two", "is": "residual", "with": "residual=bf16,value=bf16",
   "reads": {"x": "y", "r": "r"}, "makes": {"y": "z"}}]})";

class ParityOfTwoSums : public pass_of_dumps {
 protected:
  ParityOfTwoSums() : pass_of_dumps(two_sums) {
    inputs_["x"] = drawn("x", bf16, fit_tokens, fit_columns, 1, 0);
    inputs_["r"] = drawn("r", bf16, fit_tokens, fit_columns, 2, 0);
    make_a();
  }

  static outputs twice(const problem& p) {
    problem q = p;
    q.with.value = fp32;
    outputs all = claimed_outputs(p);
    for (std::size_t i = 0; i < all[0].words.size(); ++i) {
      const auto x = to_double(decode(bf16, p.in[0].words[i]));
      const auto r = to_double(decode(bf16, p.in[1].words[i]));
      const auto sum = static_cast<float>(x) + static_cast<float>(2 * r);
      all[0].words[i] = recode(fp32, bit_cast<std::uint32_t>(sum), bf16);
    }
    return all;
  }
  static outputs none(const problem& p) {
    outputs all = claimed_outputs(p);
    all[0].words = p.in[0].words;
    return all;
  }
};

/// x + 2r and nothing, for x + r and r: each alone is worse than neither.
TEST_F(ParityOfTwoSums, RulesThatUndoEachOtherHaveNegativeShares) {
  write("b", pass({{"one", twice}, {"two", none}}));
  const parity_report r = compared();
  EXPECT_EQ(report_of(r, "one").b.name, "r twice");
  EXPECT_EQ(report_of(r, "two").b.name, "r lost");
  EXPECT_EQ(r.all_rules, 1) << r.why_no_shares;
  for (const char* const name : {"one", "two"}) {
    EXPECT_LT(report_of(r, name).share.value(), -1) << name;
  }
  const std::string sentence = "a negative share: with that rule A's last";
  EXPECT_NE(program::text_of(r).find(sentence), std::string::npos);
  const parity_report one = compared_with("one", twice);
  EXPECT_EQ(program::text_of(one).find(sentence), std::string::npos);
}

/// Rules of some rows, all rows at once.
TEST_F(ParityOfTwoSums, SharesOfAllRowsAreThoseOfEachRowsRule) {
  const auto late = [](const problem& p) {
    outputs all = claimed_outputs(p);
    std::copy(p.in[0].words.begin() + 256 * fit_columns, p.in[0].words.end(),
              all[0].words.begin() + 256 * fit_columns);
    return all;
  };
  write("b", pass({{"two", late}}));
  const parity_report r = compared(0);
  EXPECT_EQ(report_of(r, "two").parts.size(), 2u);
  EXPECT_EQ(r.all_rules, 1) << r.why_no_shares;
  EXPECT_EQ(report_of(r, "two").share, 1);
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> all{
      {0, fit_tokens}};
  EXPECT_EQ(r.share_rows, all);
}

}  // namespace
}  // namespace zeroulp::parity
