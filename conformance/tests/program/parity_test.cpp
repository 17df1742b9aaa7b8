// Tests of parity on two dumps of a layer: norm, quantize, GEMM, SwiGLU,
// quantize, GEMM. One side's rule is another in one operator; it must be named.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "conformance/tests/program/parity_pass.hpp"

namespace zeroulp::parity {
namespace {

constexpr const char* layer = R"({"operators": [
  {"name": "norm", "is": "rms_norm", "reads": {"x": "hidden", "w": "gain"},
   "makes": {"y": "normed"}},
  {"name": "quantize", "is": "quantize", "with": "to=e4m3,group=1x128",
   "reads": {"x": "normed"}, "makes": {"scales": "q.scale", "codes": "q"}},
  {"name": "up", "is": "gemm", "with": "recipe=deepgemm.1d2d,output=bf16",
   "reads": {"a": "q", "a_scales": "q.scale", "b": "w1", "b_scales": "w1.scale"},
   "makes": {"d": "gates"}},
  {"name": "swiglu", "is": "swiglu", "reads": {"g": "gates", "u": "u"},
   "makes": {"h": "h"}},
  {"name": "quantize2", "is": "quantize", "with": "to=e4m3,group=1x128",
   "reads": {"x": "h"}, "makes": {"scales": "p.scale", "codes": "p"}},
  {"name": "down", "is": "gemm", "with": "recipe=deepgemm.1d2d",
   "reads": {"a": "p", "a_scales": "p.scale", "b": "w2", "b_scales": "w2.scale"},
   "makes": {"d": "out"}}]})";

constexpr std::ptrdiff_t rows = 256, width = 256, hidden = 256;

class ParityOfDumps : public pass_of_dumps {
 protected:
  ParityOfDumps() : pass_of_dumps(layer) {
    inputs_["hidden"] = drawn("hidden", bf16, rows, width, 1, 0);
    inputs_["gain"] = drawn("gain", bf16, 1, width, 2, 0);
    inputs_["u"] = drawn("u", bf16, rows, hidden, 3, 0);
    add_weight("w1", hidden, width, 4);
    add_weight("w2", width, hidden, 5);
    make_a();
  }
};

TEST_F(ParityOfDumps, EqualPassesAreCertified) {
  write("b", a_);
  const parity_report r = compared();
  EXPECT_TRUE(r.same());
  for (const auto& o : r.operators) {
    EXPECT_EQ(o.said, state::equal) << o.name;
    for (const auto& t : o.makes) EXPECT_EQ(t.by.digest.size(), 64u);
  }
}

TEST_F(ParityOfDumps, AnInputThatDiffersIsNamed) {
  tensors b = a_;
  b["w2"].words[7] ^= 1;
  write("b", b);
  const parity_report r = compared();
  EXPECT_EQ(r.first_tensor, "w2");
  EXPECT_TRUE(r.is_input);
}

/// The rule of one operator is B's own; those behind it inherit.
TEST_F(ParityOfDumps, ARuleIsNamedAndMakesAllOfTheDifference) {
  const auto vllm = [](const problem& p) {
    problem q = p;
    q.with.how = row_named(named_conventions, "vllm");
    return claimed_outputs(q);
  };
  const parity_report r = compared_with("quantize2", vllm);
  EXPECT_EQ(r.first_rule, "quantize2");
  EXPECT_EQ(report_of(r, "quantize2").said, state::differs);
  EXPECT_EQ(report_of(r, "quantize2").a.name, "as claimed");
  EXPECT_EQ(report_of(r, "down").said, state::inherited);
  EXPECT_EQ(report_of(r, "up").said, state::equal);
  ASSERT_TRUE(report_of(r, "quantize2").share);
  EXPECT_NEAR(*report_of(r, "quantize2").share, 1, 1e-12);
  EXPECT_EQ(r.all_rules, 1);
}

/// Two riddles at once: blocks of powers of two against FP32 scales, and a
/// product whose K is in two halves.
TEST_F(ParityOfDumps, TwoRulesAreNamedEachWithItsShare) {
  const auto pow2 = [](const problem& p) {
    problem q = p;
    q.with.scale = scale_kind::pow2;
    return claimed_outputs(q);
  };
  const auto split = [](const problem& p) {
    problem q = p;
    q.with.gemm.splits = 2;
    return claimed_outputs(q);
  };
  write("b", pass({{"quantize", pow2}, {"down", split}}));
  const parity_report r = compared();
  EXPECT_EQ(r.first_rule, "quantize");
  EXPECT_EQ(report_of(r, "quantize").said, state::differs);
  EXPECT_EQ(report_of(r, "quantize2").said, state::inherited);
  EXPECT_NE(report_of(r, "down").said, state::equal);
}

TEST_F(ParityOfDumps, VariantsAreNamed) {
  const auto through = [](std::size_t operand, format f) {
    return [=](const problem& p) {
      problem q = p;
      for (auto& word : q.in[operand].words) {
        word =
            recode(f, recode(q.in[operand].type, word, f), q.in[operand].type);
      }
      return claimed_outputs(q);
    };
  };
  const auto name_of_b = [&](const char* in, const auto& answer) {
    return report_of(compared_with(in, answer), in).b.name;
  };
  EXPECT_EQ(name_of_b("norm", through(0, e4m3)), "x through e4m3");
  EXPECT_EQ(name_of_b("down", through(2, bf16)), "a_scales through bf16");
  EXPECT_EQ(name_of_b("norm",
                      [](const problem& p) {
                        problem q = p;
                        q.in[2].words[0] = 0x3727c5ac;
                        return claimed_outputs(q);
                      }),
            "eps 1e-5");
}

TEST_F(ParityOfDumps, BadChainsAreRefused) {
  const auto refusal = [&](const std::string& text) -> std::string {
    std::ofstream(path_ / "bad.json") << text;
    try {
      read_chain(path_ / "bad.json");
    } catch (const input_error& e) {
      return e.what();
    }
    return "";
  };
  const std::string good(layer);
  EXPECT_EQ(refusal(good), "");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return refusal(text);
  };
  EXPECT_NE(changed("rms_norm", "rmsnorm").find("operator 1"),
            std::string::npos);
  EXPECT_NE(changed("\"w\": \"gain\"", "\"v\": \"gain\"").find("reads no 'v'"),
            std::string::npos);
  EXPECT_NE(changed("\"makes\"", "\"make\"").find("'make'"), std::string::npos);
  EXPECT_NE(changed("\"name\": \"up\"", "\"name\": \"norm\"").find("two"),
            std::string::npos);
  EXPECT_NE(changed("\"y\": \"normed\"", "\"y\": \"hidden\"").find("hidden"),
            std::string::npos);
  EXPECT_NE(refusal("[]").find("operators"), std::string::npos);
  EXPECT_NE(refusal("").find("line 1, column 0: is no JSON"),
            std::string::npos);
  EXPECT_NE(refusal("{\"operators\":\n [,]}").find("line 2, column 3"),
            std::string::npos);
  EXPECT_NE(changed("\"is\": \"gemm\"", "\"name\": \"n\", \"is\": \"gemm\"")
                .find("'name' is given twice"),
            std::string::npos);
  EXPECT_NE(changed("{\"operators\"", "{\"layers\": 3, \"operators\"")
                .find("'layers'"),
            std::string::npos);
  EXPECT_NE(
      changed("\"name\": \"up\"", "\"name\": \"\"").find("'name' is empty"),
      std::string::npos);
  EXPECT_NE(
      changed("\"d\": \"gates\"", "\"e\": \"gates\"").find("makes no 'e'"),
      std::string::npos);
}

TEST_F(ParityOfDumps, TensorsThatDoNotFitAreNamed) {
  write("b", a_);
  fs::remove(path_ / "b" / "normed.npy");
  try {
    compared();
    FAIL();
  } catch (const input_error& e) {
    EXPECT_NE(std::string(e.what()).find("'normed'"), std::string::npos);
  }
  tensors b = a_;
  b["gates"].type = e4m3;  // as bytes
  for (auto& word : b["gates"].words) word &= 0xff;
  write("b", b);
  try {
    compared();
    FAIL();
  } catch (const input_error& e) {
    EXPECT_NE(std::string(e.what()).find("operator 'up'"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace zeroulp::parity
