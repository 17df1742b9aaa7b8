// Riddles of parity: two packages' conventions, only the order of sums, many
// layers, faults that are written by hand.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "conformance/tests/program/parity_pass.hpp"
#include "zeroulp/model.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::parity {
namespace {

constexpr const char* layers = R"({"operators": [
  {"repeat": 3, "operators": [
    {"name": "norm{i}", "is": "rms_norm", "with": "from=bf16,value=bf16",
     "reads": {"x": "x{i}", "w": "gain"}, "makes": {"y": "normed{i}"}},
    {"name": "quantize{i}", "is": "quantize", "with": "from=bf16,group=1x128",
     "reads": {"x": "normed{i}"},
     "makes": {"scales": "q{i}.scale", "codes": "q{i}"}},
    {"name": "up{i}", "is": "gemm", "with": "recipe=deepgemm.1d2d,output=bf16",
     "reads": {"a": "q{i}", "a_scales": "q{i}.scale", "b": "w",
               "b_scales": "w.scale"}, "makes": {"d": "product{i}"}},
    {"name": "rope{i}", "is": "rope", "with": "heads=2,length=128,value=bf16",
     "reads": {"x": "product{i}"}, "makes": {"y": "turned{i}"}},
    {"name": "residual{i}", "is": "residual",
     "with": "residual=bf16,value=bf16",
     "reads": {"x": "x{i}", "r": "turned{i}"}, "makes": {"y": "x{i+1}"}}]}]})";

constexpr std::ptrdiff_t tall = 256, wide = 768;

class ParityOfLayers : public pass_of_dumps {
 protected:
  ParityOfLayers() : pass_of_dumps(layers) {
    inputs_["x0"] = drawn("x0", bf16, tall, wide, 1, 0);
    inputs_["gain"] = drawn("gain", bf16, 1, wide, 2, 0);
    add_weight("w", wide, wide, 3);
    // A gain of 0 for a group, and groups below every floor of a convention.
    for (std::ptrdiff_t j = 0; j < 128; ++j) inputs_["gain"](0, j) = 0;
    for (std::ptrdiff_t j = 128; j < 256; ++j) {
      matrix& gain = inputs_["gain"];
      gain(0, j) = recode(
          fp32, bit_cast<std::uint32_t>(1e-12F * static_cast<float>(j)), bf16);
    }
    make_a();
  }
};

answer by_convention(const char* name, scale_kind scale) {
  return [how = parse_convention(name), scale](const problem& p) {
    problem q = p;
    q.with.how = how;
    q.with.scale = scale;
    return claimed_outputs(q);
  };
}

/// Transformer Engine's blockwise quantizer against vLLM's: the chain claims
/// neither, and both are named.
TEST_F(ParityOfLayers, TransformerEngineAgainstVllmIsNamed) {
  const std::tuple<scale_kind, const char*> blockwise[] = {
      {scale_kind::pow2, "transformer_engine, scales pow2"},
      {scale_kind::float32, "transformer_engine, scales fp32"}};
  for (const auto& [scale, name] : blockwise) {
    write("a",
          pass({{"quantize0", by_convention("transformer_engine", scale)}}));
    write("b",
          pass({{"quantize0", by_convention("vllm", scale_kind::float32)}}));
    const parity_report r = compared();
    EXPECT_EQ(r.first_tensor, "q0.scale");
    EXPECT_EQ(r.first_rule, "quantize0");
    const operator_report& o = report_of(r, "quantize0");
    EXPECT_TRUE(is_named(o.a, name)) << o.a.name;
    EXPECT_EQ(o.b.name, "vllm, scales fp32");
    for (const std::string& other : o.a.same) {
      EXPECT_FALSE(other.starts_with("vllm")) << other;
    }
    EXPECT_EQ(o.alone, "");
    EXPECT_EQ(report_of(r, "up0").said, state::inherited);
  }
}

/// A difference in the order of sums alone is called that, and only that is.
TEST_F(ParityOfLayers, OnlyTheOrderOfSumsIsSaid) {
  const std::tuple<const char*, void (*)(fuzz::settings&), const char*,
                   const char*>
      sums[] = {
          {"up1", [](fuzz::settings& s) { s.gemm.splits = 2; }, "splits 2",
           "the order of sums"},
          {"up1", [](fuzz::settings& s) { s.gemm.splits = 4; }, "splits 4",
           "the order of sums"},
          {"up1", [](fuzz::settings& s) { s.gemm.interval = 64; },
           "interval 64", "the order of sums"},
          {"up1",
           [](fuzz::settings& s) { s.gemm.acc = s.unit.acc = fp32_sequential; },
           "accumulator sequential.e4m3.e4m3.f32", "the accumulator of sums"},
          {"quantize1", [](fuzz::settings& s) { s.scale = scale_kind::pow2; },
           "zeroulp, scales pow2", ""}};
  for (const auto& [in, change, name, alone] : sums) {
    const parity_report r = compared_with(in, by_settings(change));
    EXPECT_TRUE(is_named(report_of(r, in).b, name)) << name;
    EXPECT_EQ(report_of(r, in).alone, alone) << name;
    EXPECT_EQ(r.alone, alone) << name;
  }
  // With another rule besides it is not only that.
  write("b", pass({{"quantize0", by_convention("vllm", scale_kind::pow2)},
                   {"up1", by_settings([](fuzz::settings& s) {
                      s.gemm.splits = 2;
                    })}}));
  const parity_report r = compared();
  EXPECT_EQ(r.first_rule, "quantize0");
  EXPECT_EQ(report_of(r, "up1").alone, "the order of sums");
  EXPECT_EQ(r.alone, "");
}

/// A chain of one layer serves many: what differs is named with its layer.
TEST_F(ParityOfLayers, LayersAreRepeated) {
  ASSERT_EQ(chain_.size(), 15u);
  EXPECT_EQ(chain_[9].name, "residual1");
  EXPECT_EQ(*chain_[9].makes_as("y"), "x2");
  const parity_report r = compared_with("rope2", [](const problem& p) {
    outputs all = claimed_outputs(p);
    all[0].words = p.in[0].words;
    return all;
  });
  EXPECT_EQ(r.first_tensor, "turned2");
  EXPECT_EQ(r.first_rule, "rope2");
  EXPECT_EQ(report_of(r, "rope2").b.name, "not rotated");
  EXPECT_EQ(report_of(r, "rope1").said, state::equal);
  EXPECT_EQ(report_of(r, "residual2").said, state::inherited);
  ASSERT_TRUE(report_of(r, "rope2").share);
  EXPECT_EQ(*report_of(r, "rope2").share, 1);
}

/// Inputs that differ make no rule differ.
TEST_F(ParityOfLayers, InputsThatDifferNameNoRule) {
  tensors kept = inputs_;
  for (std::size_t i = 0; i < inputs_["x0"].words.size(); i += 97) {
    inputs_["x0"].words[i] ^= 1;
  }
  write("b", pass({}));
  inputs_ = kept;
  const parity_report r = compared();
  EXPECT_TRUE(r.is_input);
  EXPECT_EQ(r.first_rule, "");
  for (const auto& o : r.operators) {
    EXPECT_EQ(o.said, state::inherited) << o.name;
  }
}

std::uint64_t bf16_word(double x) {
  return encode(bf16, decode(x), {}, cuda_nosat);
}
double bf16_number_of(std::uint64_t word) {
  return to_double(decode(bf16, word));
}

/// Faults that share no line with what looks for them.
TEST_F(ParityOfLayers, FaultsWrittenByHandAreNamed) {
  const std::tuple<const char*, const char*, answer> faults[] = {
      {"residual1", "r lost",
       [](const problem& p) { return outputs{matrix(p.in[0])}; }},
      {"residual1", "r of the row above",
       [](const problem& p) {
         matrix y = p.in[0];
         for (std::ptrdiff_t i = 0; i < y.rows; ++i) {
           for (std::ptrdiff_t j = 0; j < y.cols; ++j) {
             y(i, j) = bf16_word(bf16_number_of(y(i, j)) +
                                 bf16_number_of(p.in[1](i > 0 ? i - 1 : 0, j)));
           }
         }
         return outputs{y};
       }},
      {"residual1", "y rounded toward_zero",
       [](const problem& p) {
         matrix y = p.in[0];
         for (std::size_t i = 0; i < y.words.size(); ++i) {
           const auto sum =
               static_cast<float>(bf16_number_of(y.words[i])) +
               static_cast<float>(bf16_number_of(p.in[1].words[i]));
           y.words[i] = bit_cast<std::uint32_t>(sum) >> 16;
         }
         return outputs{y};
       }},
      {"rope1", "head 1 not rotated",
       [](const problem& p) {
         outputs all = claimed_outputs(p);
         for (std::ptrdiff_t i = 0; i < tall; ++i) {
           for (std::ptrdiff_t j = wide / 2; j < wide; ++j) {
             all[0](i, j) = p.in[0](i, j);
           }
         }
         return all;
       }},
      {"quantize1", "scales:reciprocal",
       [](const problem& p) {
         outputs all = claimed_outputs(p);
         for (auto& word : all[0].words) {
           word = bit_cast<std::uint32_t>(
               1 / bit_cast<float>(static_cast<std::uint32_t>(word)));
         }
         return all;
       }},
      {"norm1", "weight plus 1", [](const problem& p) {
         problem q = p;
         q.with.weight = fp32;
         for (auto& word : q.in[1].words) {
           word = bit_cast<std::uint32_t>(
               1 + static_cast<float>(bf16_number_of(word)));
         }
         q.in[1].type = fp32;
         return claimed_outputs(q);
       }}};
  for (const auto& [in, name, fault] : faults) {
    auto made = [&f = fault](const problem& p) {
      outputs all = f(p);
      if (all.size() == 1) all[0].name = "y";
      return all;
    };
    const parity_report r = compared_with(in, made);
    EXPECT_EQ(r.first_rule, in);
    const rule& by = report_of(r, in).b;
    EXPECT_TRUE(is_named(by, name))
        << name << " was " << by.name << ", near " << by.near;
  }
}

/// The library's rope in its other reading; positions that are one off.
TEST_F(ParityOfLayers, TheLibrarysRopeIsNamed) {
  const auto by_library = [](rope_pairs pairs, std::ptrdiff_t first,
                             std::ptrdiff_t length = 128) {
    return [=](const problem& p) {
      constexpr std::ptrdiff_t half = wide / 4;
      std::vector<double> by;
      for (std::ptrdiff_t i = 0; i < half; ++i) {
        by.push_back(std::pow(10000.0, -2.0 * static_cast<double>(i) /
                                           static_cast<double>(2 * half)));
      }
      std::vector<std::uint32_t> c(static_cast<std::size_t>(length * half));
      std::vector<std::uint32_t> s(c.size());
      const matrix_view<std::uint32_t> cosines{c.data(), length, half};
      const matrix_view<std::uint32_t> sines{s.data(), length, half};
      engine::rope_table(by, first, cosines, sines);
      std::vector<std::uint16_t> x(p.in[0].words.begin(), p.in[0].words.end());
      std::vector<std::uint16_t> y(x.size());
      engine::rope({pairs,
                    false,
                    2,
                    {x.data(), tall, wide},
                    cosines,
                    sines,
                    {y.data(), tall, wide}});
      matrix made("y", bf16, tall, wide);
      made.words.assign(y.begin(), y.end());
      return outputs{made};
    };
  };
  write("b", pass({{"rope0", by_library(rope_pairs::adjacent, 0)}}));
  EXPECT_TRUE(compared().same());  // N4: the same bits as the operator's
  const auto name_of_b = [&](const answer& a) {
    return report_of(compared_with("rope0", a), "rope0").b.name;
  };
  EXPECT_EQ(name_of_b(by_library(rope_pairs::halves, 0)), "pairs halves");
  EXPECT_EQ(name_of_b(by_library(rope_pairs::adjacent, 1)), "positions +1");
  // Differs from the second sequence on: rules are sought there.
  EXPECT_EQ(name_of_b(by_library(rope_pairs::adjacent, 0, tall)),
            "positions of one sequence");
}

constexpr const char* apart = R"({"operators": [
  {"name": "one", "is": "residual", "with": "residual=bf16,value=bf16",
   "reads": {"x": "x", "r": "r"}, "makes": {"y": "y"}},
  {"name": "two", "is": "residual", "with": "residual=bf16,value=bf16",
   "reads": {"x": "x", "r": "late"}, "makes": {"y": "z"}}]})";

class ParityOfTwoPaths : public pass_of_dumps {
 protected:
  ParityOfTwoPaths() : pass_of_dumps(apart) {
    inputs_["x"] = drawn("x", bf16, tall, 64, 1, 0);
    inputs_["r"] = drawn("r", bf16, tall, 64, 2, 0);
    inputs_["late"] = drawn("late", bf16, tall, 64, 3, 0);
    for (std::ptrdiff_t i = 0; i < 200; ++i) {
      for (std::ptrdiff_t j = 0; j < 64; ++j) inputs_["late"](i, j) = 0;
    }
    make_a();
  }
};

/// The first rule shows in row 0, the second in row 200 alone.
TEST_F(ParityOfTwoPaths, ARuleIsSoughtWhereItsOutputsDiffer) {
  const auto x_alone = [](const problem& p) {
    outputs all = claimed_outputs(p);
    all[0].words = p.in[0].words;
    return all;
  };
  write("b", pass({{"one", x_alone}, {"two", x_alone}}));
  const parity_report r = compared();
  EXPECT_EQ(r.first_rule, "one");
  EXPECT_EQ(report_of(r, "one").b.name, "r lost");
  EXPECT_EQ(report_of(r, "two").said, state::differs);
  EXPECT_EQ(report_of(r, "two").b.name, "r lost");
}

TEST_F(ParityOfLayers, BadRepetitionsAreRefused) {
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string text = layers;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(path_ / "bad.json") << text;
    try {
      read_chain(path_ / "bad.json");
    } catch (const input_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("\"repeat\": 3", "\"repeat\": 2"), "");
  for (const char* const bad : {"0", "-1", "1.5", "\"3\"", "1000000"}) {
    EXPECT_NE(refusal("\"repeat\": 3", fmt::format("\"repeat\": {}", bad))
                  .find("repeat"),
              std::string::npos)
        << bad;
  }
  EXPECT_NE(refusal("\"repeat\": 3", "\"repeat\": 3, \"to\": 4").find("'to'"),
            std::string::npos);
  EXPECT_NE(refusal("norm{i}", "norm").find("'norm'"), std::string::npos);
  EXPECT_NE(refusal("x{i+1}", "x{i}").find("operator 'residual0'"),
            std::string::npos);
  EXPECT_NE(refusal("heads=2", "head=2").find("rope has no setting 'head'"),
            std::string::npos);
}

}  // namespace
}  // namespace zeroulp::parity
