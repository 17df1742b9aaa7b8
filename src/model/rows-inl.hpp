// Defines the functions of rows.hpp over arithmetics `A` and `D`. Included once
// for each set of vector instructions. Internal.

#if defined(ZEROULP_SRC_MODEL_ROWS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZEROULP_SRC_MODEL_ROWS_INL_HPP_
#undef ZEROULP_SRC_MODEL_ROWS_INL_HPP_
#else
#define ZEROULP_SRC_MODEL_ROWS_INL_HPP_
#endif

#include <hwy/highway.h>

#include "src/model/hardware.hpp"
#include "src/model/rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace zeroulp::engine {
namespace HWY_NAMESPACE {
namespace {

template <class A, class D>
struct model_rows {
  static void log_words(const std::uint32_t* x, std::uint32_t* out,
                        std::ptrdiff_t n) {
    for (std::ptrdiff_t j = 0; j < n; ++j) out[j] = zeroulp::log<D>(x[j]);
  }
  static void dx_rows(const rms_norm_gradients& t, std::ptrdiff_t begin,
                      std::ptrdiff_t end) {
    rms_norm_dx<A>(t, begin, end);
  }
  static void dw_elements(const rms_norm_gradients& t, std::ptrdiff_t begin,
                          std::ptrdiff_t end) {
    rms_norm_dw<A>(t, begin, end);
  }
  static void turned_rows(const rope_rows& t, std::ptrdiff_t begin,
                          std::ptrdiff_t end) {
    zeroulp::rope<A>(t, begin, end);
  }
  static void routed_rows(const router& r, const routing& t,
                          std::ptrdiff_t begin, std::ptrdiff_t end) {
    zeroulp::route<A>(r, t, begin, end);
  }
  static void dlogits_rows(const router& r, const routing_gradients& t,
                           std::ptrdiff_t begin, std::ptrdiff_t end) {
    zeroulp::route_backward<A>(r, t, begin, end);
  }
  static void balanced_sequences(const balance_rows& t, std::ptrdiff_t begin,
                                 std::ptrdiff_t end) {
    zeroulp::balance_loss<A>(t, begin, end);
  }
  static void average_words(const std::uint32_t* x, std::uint32_t rate,
                            std::uint32_t* average, std::ptrdiff_t n) {
    const auto by = A::from_bits(rate);
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      average[j] = A::bits(
          updated_average<A>(A::from_bits(average[j]), A::from_bits(x[j]), by));
    }
  }
  static void slot_rows(const slot_gradients& t, std::ptrdiff_t begin,
                        std::ptrdiff_t end) {
    zeroulp::slot_backward<A>(t, begin, end);
  }
  static void loss_rows(const cross_entropy_rows& t, std::ptrdiff_t begin,
                        std::ptrdiff_t end) {
    zeroulp::cross_entropy<A, D>(t, begin, end);
  }
  static void squares(const std::uint32_t* g, std::ptrdiff_t n, double& sum) {
    sum = bit_cast<double>(D::bits(chunk_of_squares<D>(g, n)));
  }
  static void sum_words(const std::uint32_t* a, const std::uint32_t* b,
                        std::uint32_t* out, std::ptrdiff_t n) {
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      out[j] = A::bits(A::add(A::from_bits(a[j]), A::from_bits(b[j])));
    }
  }

  template <class T>
  static T* row(const matrix_view<T>& m, std::ptrdiff_t i) {
    return m.data + i * m.row_stride;
  }

  static void weights_of_queries(const query_block& b, const query_weights& t) {
    for (std::ptrdiff_t i = 0; i < b.rows; ++i) {
      const std::uint32_t* const scores = row(t.scores, i);
      const std::ptrdiff_t seen = b.first + i + 1;
      const auto largest = attention_largest<A>(b.scale, scores, seen);
      t.largest(i, 0) = largest;
      attention_weights<A>(b.scale, largest, scores, seen, b.keys, row(t.e, i));
    }
  }
  static void outputs_of_queries(const query_block& b, const query_outputs& t) {
    for (std::ptrdiff_t i = 0; i < b.rows; ++i) {
      const std::uint32_t* const sums = row(t.sums, i);
      t.inverse(i, 0) =
          attention_output<A>(sums[t.o.cols], sums, t.o.cols, row(t.o, i));
    }
  }
  static void gradients_of_queries(const query_block& b,
                                   const query_gradients& t) {
    for (std::ptrdiff_t i = 0; i < b.rows; ++i) {
      const std::ptrdiff_t seen = b.first + i + 1;
      attention_weights<A>(b.scale, t.largest(i, 0), row(t.scores, i), seen,
                           b.keys, row(t.p, i));
      const std::uint32_t d =
          attention_dot<A>(row(t.d_o, i), row(t.o, i), t.o.cols);
      attention_gradients<A>(t.inverse(i, 0), d, row(t.dp, i), seen, b.keys,
                             row(t.p, i), row(t.ds, i));
    }
  }
  static void logits_of_query(const indexer_query& t) {
    zeroulp::indexer_logits<A>(t);
  }
  static void scaled(const scaled_rows& t) {
    for (std::ptrdiff_t i = 0; i < t.x.rows; ++i) {
      const std::uint32_t* const x = row(t.x, i);
      std::uint16_t* const out = row(t.out, i);
      if (t.scaled) {
        attention_scaled<A>(t.scale, x, t.x.cols, out);
        continue;
      }
      for (std::ptrdiff_t j = 0; j < t.x.cols; ++j) {
        out[j] = bf16_code<A>(A::from_bits(x[j]));
      }
    }
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace zeroulp::engine
HWY_AFTER_NAMESPACE();

#endif  // ZEROULP_SRC_MODEL_ROWS_INL_HPP_
