// Tests of parity on two dumps of a layer: norm, quantize, GEMM, SwiGLU,
// quantize, GEMM. One side's rule is another in one operator; it must be named.

#include "tools/parity/parity.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "conformance/tests/level.hpp"
#include "fuzz/explain/suspects.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::parity {
namespace {

namespace fs = std::filesystem;
using fuzz::matrix;
using fuzz::outputs;
using fuzz::problem;
using tensors = std::map<std::string, matrix>;

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

class ParityOfDumps : public testing::Test {
 protected:
  ParityOfDumps()
      : path_(fs::temp_directory_path() /
              ("zeroulp_parity_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
    std::ofstream(path_ / "layer.json") << layer;
    chain_ = read_chain(path_ / "layer.json");
    inputs_["hidden"] = drawn("hidden", bf16, rows, width, 1, 0);
    inputs_["gain"] = drawn("gain", bf16, 1, width, 2, 0);
    inputs_["u"] = drawn("u", bf16, rows, hidden, 3, 0);
    add_weight("w1", hidden, width, 4);
    add_weight("w2", width, hidden, 5);
    a_ = pass({});
    write("a", a_);
  }
  ~ParityOfDumps() override { fs::remove_all(path_); }

  /// Nearly normal numbers, with outliers in some rows.
  static matrix drawn(const char* name, format f, std::ptrdiff_t m,
                      std::ptrdiff_t n, std::uint64_t seed, int exponent) {
    matrix x(name, f, m, n);
    counter_rng rng(seed, 0);
    for (auto& word : x.words) {
      double sum = 0;
      for (int i = 0; i < 6; ++i) sum += rng.between(-1000, 1000) / 1400.0;
      if (rng.below(97) == 0) sum *= 20;
      const auto number = static_cast<float>(std::ldexp(sum, exponent));
      word = recode(fp32, bit_cast<std::uint32_t>(number), f);
    }
    return x;
  }

  void add_weight(const std::string& name, std::ptrdiff_t m, std::ptrdiff_t n,
                  std::uint64_t seed) {
    problem p;
    p.what = fuzz::target::quantize;
    p.with.from = fp32;
    p.with.group = {128, 128};
    p.in = {drawn("x", fp32, m, n, seed, -4), matrix("history", fp32, 1, 0),
            matrix("current", fp32, 1, 1)};
    const outputs made = fuzz::claimed_outputs(p);
    inputs_[name + ".scale"] = made[0];
    inputs_[name] = made[1];
  }

  problem problem_from(const tensors& all, const chain_operator& o) const {
    return problem_of(o, typeless(),
                      [&](const std::string& tensor, const char* as,
                          format type, char, std::int32_t) {
                        matrix m = all.at(tensor);
                        m.name = as;
                        EXPECT_TRUE(m.type == type) << tensor;
                        return m;
                      });
  }

  /// The layer's tensors, by other answers of some operators.
  using answers = std::map<std::string, std::function<outputs(const problem&)>>;
  tensors pass(const answers& others) const {
    tensors all = inputs_;
    for (const chain_operator& o : chain_) {
      const problem p = problem_from(all, o);
      const auto other = others.find(o.name);
      const outputs made =
          other == others.end() ? fuzz::claimed_outputs(p) : other->second(p);
      for (const auto& [output, tensor] : o.makes) {
        for (const matrix& x : made) {
          if (output == x.name) all[tensor] = x;
        }
      }
    }
    return all;
  }

  /// A dump that tells no type.
  dump typeless() const {
    const fs::path folder = path_ / "typeless";
    if (!fs::exists(folder)) {
      output_set files(folder);
      files.add("nothing.npy", array{dtype::u8, {1}, {std::byte{0}}});
      files.commit();
    }
    return dump(folder, {});
  }

  /// As a folder of .npy files: codes as integers of their width, FP32.
  void write(const std::string& side, const tensors& all) const {
    fs::remove_all(path_ / side);
    output_set files(path_ / side);
    for (const auto& [name, x] : all) {
      const int bytes = x.type == fp32 ? 4 : x.type.bits() > 8 ? 2 : 1;
      array a{
          bytes == 4   ? dtype::f32
          : bytes == 2 ? dtype::u16
                       : dtype::u8,
          {static_cast<std::size_t>(x.rows), static_cast<std::size_t>(x.cols)},
          {}};
      for (const std::uint64_t word : x.words) {
        for (int i = 0; i < bytes; ++i) {
          a.data.push_back(static_cast<std::byte>(word >> (8 * i)));
        }
      }
      files.add(name + ".npy", a);
    }
    files.commit();
  }

  parity_report compared() const {
    return compare(chain_, dump(path_ / "a", {}), dump(path_ / "b", {}), {});
  }
  /// Of A and of a pass with another answer in one operator.
  parity_report compared_with(
      const std::string& name,
      const std::function<outputs(const problem&)>& answer) const {
    write("b", pass({{name, answer}}));
    return compared();
  }

  const operator_report& report_of(const parity_report& r,
                                   const std::string& name) const {
    for (const auto& o : r.operators) {
      if (o.name == name) return o;
    }
    throw std::logic_error(name);
  }

  fs::path path_;
  std::vector<chain_operator> chain_;
  tensors inputs_;
  tensors a_;
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
    return fuzz::claimed_outputs(q);
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
    return fuzz::claimed_outputs(q);
  };
  const auto split = [](const problem& p) {
    problem q = p;
    q.with.gemm.splits = 2;
    return fuzz::claimed_outputs(q);
  };
  write("b", pass({{"quantize", pow2}, {"down", split}}));
  const parity_report r = compared();
  EXPECT_EQ(r.first_rule, "quantize");
  EXPECT_EQ(report_of(r, "quantize").said, state::differs);
  EXPECT_EQ(report_of(r, "quantize2").said, state::inherited);
  EXPECT_NE(report_of(r, "down").said, state::equal);
}

/// A planted series: every suspect that shows in its operator's outputs is
/// found where it is, and at least nine of ten by a name that gives its bits.
TEST_F(ParityOfDumps, APlantedSeriesIsNamed) {
  const int wanted = test::level() >= 2 ? 12 : 2;  // of each operator
  int shown = 0, found = 0, named = 0;
  std::string missed;
  for (const char* const in : {"norm", "quantize", "up", "swiglu"}) {
    const chain_operator& o =
        *std::find_if(chain_.begin(), chain_.end(),
                      [&](const auto& x) { return x.name == in; });
    const problem p = problem_from(a_, o);
    std::vector<fuzz::suspect> all = fuzz::definitions(p);
    for (auto* list : {fuzz::misreadings, fuzz::faults}) {
      for (fuzz::suspect& s : list(p)) all.push_back(std::move(s));
    }
    int left = wanted;
    // From all over the list: its neighbours are alike.
    for (std::size_t i = 0; i < all.size() && left > 0; ++i) {
      const fuzz::suspect& who = all[i * 37 % all.size()];
      tensors b;
      try {
        b = pass({{in, who.answer}});
      } catch (const input_error&) {
        continue;  // the library has no such product
      }
      write("b", b);
      const parity_report r = compared();
      if (r.same()) continue;
      --left;
      ++shown;
      found += r.first_rule == in ? 1 : 0;
      const rule& by = report_of(r, in).b;
      if (by.is_known() && by.name != "as claimed") {
        ++named;
      } else {
        missed += fmt::format(" {} in {};", who.name, in);
      }
    }
  }
  EXPECT_GE(shown, 5);
  EXPECT_EQ(found, shown);
  EXPECT_LE(shown - named, std::max(1, shown / 10)) << "not named:" << missed;
  RecordProperty("shown", shown);
  RecordProperty("named", named);
}

TEST_F(ParityOfDumps, VariantsAreNamed) {
  const auto through = [](std::size_t operand, format f) {
    return [=](const problem& p) {
      problem q = p;
      for (auto& word : q.in[operand].words) {
        word =
            recode(f, recode(q.in[operand].type, word, f), q.in[operand].type);
      }
      return fuzz::claimed_outputs(q);
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
                        return fuzz::claimed_outputs(q);
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
  EXPECT_NE(refusal("").find("operators"), std::string::npos);
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
