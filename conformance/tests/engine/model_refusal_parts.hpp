// Defines `requests`: what a model's operators are asked, and what they say of
// shapes, indices and settings that do not fit.

#ifndef ZEROULP_CONFORMANCE_TESTS_ENGINE_MODEL_REFUSAL_PARTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_ENGINE_MODEL_REFUSAL_PARTS_HPP_

#include <initializer_list>

#include "conformance/checks/model/model_functions.hpp"
#include "conformance/tests/engine/engine_case_parts.hpp"

namespace zeroulp::conformance::model_refusals {

/// A request, and the beginning of what is said of it; "" where it is served.
struct refusal {
  std::string said;
  std::string expected;
};
using refusals = std::vector<refusal>;

/// Matrices of ones, or zeros, that nobody compares.
template <class T>
class room {
 public:
  explicit room(T value = 0) : data_(4096, value) {}
  operator T*() { return data_.data(); }

 private:
  std::vector<T> data_;
};

/// The functions, and memory for what they read and write.
struct requests {
  const model_functions& f;
  room<std::uint16_t> half{}, out_half{};
  room<std::uint32_t> word{0x3f800000}, out{};
  room<std::int32_t> index{}, out_index{}, slots{}, ends{};
  refusals all{};

  template <class T>
  static matrix_view<T> apart(T* data, std::ptrdiff_t m, std::ptrdiff_t n) {
    return {data, m, n, 2 * n, 2};
  }

  /// `change` of `usual` is refused so.
  template <class T, class Call, class Change>
  void one(T usual, const Call& call, const Change& change,
           std::string expected) {
    change(usual);
    const std::string said = error_of([&] { call(usual); });
    all.push_back({said == "no error" ? "" : said, std::move(expected)});
  }

  /// A matrix of each other shape, and of elements that are apart, is refused
  /// by its name. `fixed`: how many of rows and columns follow from others.
  template <class T, class Call, class Matrix>
  void shapes(const T& usual, const Call& call, Matrix T::*which,
              const std::string& name, bool rows, bool cols, bool adjacent) {
    const auto shape = [&](std::ptrdiff_t m, std::ptrdiff_t n) {
      one(
          usual, call,
          [&](T& t) {
            (t.*which).rows += m;
            (t.*which).cols += n;
          },
          name + ": ");
    };
    if (rows) shape(1, 0);
    if (rows) shape(-1, 0);
    if (cols) shape(0, 1);
    if (cols) shape(0, -1);
    if (!adjacent || (usual.*which).cols < 2) return;
    one(
        usual, call,
        [&](T& t) {
          (t.*which) = apart((t.*which).data, (t.*which).rows, (t.*which).cols);
        },
        name + ": elements of a row are 2 apart, not adjacent");
  }

  /// Index `at` of the m x 2 (or m x 1) table is refused below `first` and
  /// above `last`, and served from one to the other.
  template <class T, class Call>
  void places(const T& usual, const Call& call, const std::string& what,
              std::initializer_list<int> at_all, int cols, int first,
              int last) {
    for (const int at : at_all) {
      for (const int value : {first - 1, last + 1, last + 2}) {
        index[at] = value;
        one(
            usual, call, [](auto&) {},
            fmt::format("{} ({}, {}): {}, but {} to {} are there", what,
                        at / cols, at % cols, value, first, last));
      }
      for (const int value : {first, last, 0}) {
        index[at] = value;
        one(
            usual, call, [](auto&) {}, "");
      }
    }
  }

  // model_refusal_cases.cpp
  void logs();
  void norms();
  void ropes();
  void tables();
  void attention();
  void losses();
  void sums();
  void averages();

  // mla_refusal_cases.cpp
  void latent_attention();

  // more_refusal_cases.cpp
  void pipelines();
  void micro_batches();
  void replicas();
  void indexers();
  void predictions();

  // expert_refusal_cases.cpp
  void routers();
  void biases();
  void balances();
  void plans();
  void slot_gradients_of();
};

}  // namespace zeroulp::conformance::model_refusals

#endif  // ZEROULP_CONFORMANCE_TESTS_ENGINE_MODEL_REFUSAL_PARTS_HPP_
