// Defines `pass_of_dumps`: a chain's pass computed by the rules of its
// operators, some by other ones, and written as the dumps of two sides.

#ifndef ZEROULP_CONFORMANCE_TESTS_PROGRAM_PARITY_PASS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_PROGRAM_PARITY_PASS_HPP_

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "fuzz/explain/suspects.hpp"
#include "tools/parity/parity.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::parity {

namespace fs = std::filesystem;
using tensors = std::map<std::string, matrix>;
using answer = std::function<outputs(const problem&)>;

/// What is claimed, under other settings.
inline answer by_settings(void (*change)(fuzz::settings&)) {
  return [change](problem p) {
    change(p.with);
    return claimed_outputs(p);
  };
}

/// Whether a rule is called so, or has the same bits as one that is.
inline bool is_named(const rule& by, const std::string& name) {
  return by.name == name ||
         std::find(by.same.begin(), by.same.end(), name) != by.same.end();
}

class pass_of_dumps : public testing::Test {
 protected:
  explicit pass_of_dumps(const char* chain)
      : path_(fs::temp_directory_path() /
              ("zeroulp_parity_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
    std::ofstream(path_ / "chain.json") << chain;
    chain_ = read_chain(path_ / "chain.json");
  }
  ~pass_of_dumps() override { fs::remove_all(path_); }

  /// Computes A, when all inputs are there.
  void make_a() {
    a_ = pass({});
    write("a", a_);
  }

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
    fuzz::problem p;
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
    return problem_of(
        o, typeless(),
        [&](const std::string& tensor, const fuzz::operand_spec& spec) {
          matrix m = all.at(tensor);
          m.name = spec.name;
          EXPECT_TRUE(m.type == spec.type) << tensor;
          return m;
        });
  }

  /// The layer's tensors, by other answers of some operators.
  tensors pass(const std::map<std::string, answer>& others) const {
    tensors all = inputs_;
    for (const chain_operator& o : chain_) {
      const problem p = problem_from(all, o);
      const auto other = others.find(o.name);
      const outputs made =
          other == others.end() ? claimed_outputs(p) : other->second(p);
      for (const auto& [output, tensor] : o.makes) {
        for (const matrix& x : made) {
          if (output == x.name) all[tensor] = x;
        }
      }
    }
    return all;
  }

  /// A dump that tells no type.
  const dump& typeless() const {
    if (typeless_) return *typeless_;
    const fs::path folder = path_ / "typeless";
    if (!fs::exists(folder)) {
      output_set files(folder);
      files.add("nothing.npy", array{dtype::u8, {1}, {std::byte{0}}});
      files.commit();
    }
    return typeless_.emplace(folder, std::map<std::string, std::string>{});
  }

  /// As a folder of .npy files: codes as integers of their width, FP32.
  void write(const std::string& side, const tensors& all) const {
    fs::remove_all(path_ / side);
    output_set files(path_ / side);
    for (const auto& [name, x] : all) {
      const bool is_rows = x.type == fuzz::row_word;
      const bool is_index = is_rows || x.type == fuzz::integer;
      const int bytes = is_index || x.type == fp32 ? 4
                        : x.type.bits() > 8        ? 2
                                                   : 1;
      array a{
          is_index     ? dtype::u32
          : bytes == 4 ? dtype::f32
          : bytes == 2 ? dtype::u16
                       : dtype::u8,
          {static_cast<std::size_t>(x.rows), static_cast<std::size_t>(x.cols)},
          {}};
      for (std::uint64_t word : x.words) {
        if (is_rows) --word;  // -1: none
        for (int i = 0; i < bytes; ++i) {
          a.data.push_back(static_cast<std::byte>(word >> (8 * i)));
        }
      }
      files.add(name + ".npy", a);
    }
    files.commit();
  }

  parity_report compared(std::uint64_t rows = 128) const {
    parity_options how;
    how.rows = rows;
    return compare(chain_, dump(path_ / "a", {}), dump(path_ / "b", {}), how);
  }
  /// Of A and of a pass with another answer in one operator.
  parity_report compared_with(const std::string& name,
                              const answer& other) const {
    write("b", pass({{name, other}}));
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
  mutable std::optional<dump> typeless_;
};

}  // namespace zeroulp::parity

#endif  // ZEROULP_CONFORMANCE_TESTS_PROGRAM_PARITY_PASS_HPP_
