// Defines the hostile arguments of a C ABI call, made from the bytes of an
// input, and the checks of what the call leaves behind. A buffer holds no more
// than its elements, so that AddressSanitizer sees accesses beyond them.

#ifndef ZEROULP_FUZZ_LIBFUZZER_C_ABI_ARGUMENTS_HPP_
#define ZEROULP_FUZZ_LIBFUZZER_C_ABI_ARGUMENTS_HPP_

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/libfuzzer/contract.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/zeroulp.h"

namespace zeroulp::fuzz {

/// The bytes of an input in order, then zeros.
class source {
 public:
  source(const std::uint8_t* data, std::size_t size)
      : at_(data), end_(data + size) {}

  std::uint32_t byte() { return at_ == end_ ? 0 : *at_++; }
  std::uint32_t below(std::uint32_t n) { return byte() % n; }
  /// Returns true for one byte in `n`, and never when there is no input left.
  bool rarely(std::uint32_t n) { return byte() % n == n - 1; }
  std::uint32_t word() {
    std::uint32_t w = 0;
    for (int i = 0; i < 4; ++i) w = w << 8 | byte();
    return w;
  }
  /// A small number, or an unusual one.
  std::int64_t number() {
    constexpr std::int64_t odd[] = {-1,        0,         1,         2,
                                    3,         127,       128,       129,
                                    255,       256,       INT32_MAX, INT32_MIN,
                                    INT64_MAX, INT64_MIN, 1LL << 32, 1LL << 31,
                                    1LL << 62, 65536,     -128,      -32768};
    const auto b = byte();
    return b < 200 ? b % 40 : odd[b % std::size(odd)];
  }
  std::int32_t small() { return static_cast<std::int32_t>(number()); }
  std::string text() {
    std::string t;
    for (auto n = below(24); n > 0; --n) t += static_cast<char>(byte());
    return t;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

/// The memory of a matrix, and its bytes before the call.
struct memory {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> before;
  zeroulp_matrix view{};
  bool is_output = false;
};

/// Makes the arguments of one call, and checks the call.
class arguments {
 public:
  explicit arguments(source& s) : s_(s) {}

  source& bytes() { return s_; }
  int extent() { return static_cast<int>(s_.below(s_.rarely(8) ? 150 : 9)); }

  const zeroulp_const_matrix* in(std::int64_t m, std::int64_t n,
                                 int bytes = 4) {
    memory* const x = make(m, n, bytes, false);
    if (x == nullptr) return nullptr;
    const zeroulp_matrix& v = x->view;
    inputs_.push_back(
        {v.data, v.rows, v.cols, v.row_stride, v.col_stride, v.element_bytes});
    return &inputs_.back();
  }
  const zeroulp_matrix* out(std::int64_t m, std::int64_t n, int bytes = 4) {
    memory* const x = make(m, n, bytes, true);
    return x == nullptr ? nullptr : &x->view;
  }
  zeroulp_matrix out_value(std::int64_t m, std::int64_t n) {
    const auto* const x = out(m, n);
    return x == nullptr ? zeroulp_matrix{} : *x;
  }
  zeroulp_const_matrix in_value(std::int64_t m, std::int64_t n, int bytes = 4) {
    const auto* const x = in(m, n, bytes);
    return x == nullptr ? zeroulp_const_matrix{} : *x;
  }

  /// A copy of a struct of words, with some words changed.
  template <class T>
  const T* disturbed(T value) {
    static_assert(sizeof(T) % 4 == 0);
    for (auto n = s_.rarely(3) ? s_.below(3) : 0; n > 0; --n) {
      const std::int32_t word = s_.small();
      const auto at = s_.byte() % (sizeof(T) / 4);
      std::memcpy(reinterpret_cast<char*>(&value) + 4 * at, &word, 4);
    }
    if (s_.rarely(32)) return nullptr;
    auto& kept = kept_.emplace_back(sizeof(T) / 4 + 1);
    std::memcpy(kept.data(), &value, sizeof(T));
    return reinterpret_cast<const T*>(kept.data());
  }

  /// Checks what a call left behind.
  void check(zeroulp_status status) const {
    demand(status >= ZEROULP_OK && status <= ZEROULP_OUT_OF_MEMORY,
           "a status is OK, or blames the arguments");
    if (status != ZEROULP_OK) demand_one_line(zeroulp_last_error());
    for (const memory& x : all_) {
      auto now = x.bytes;
      if (x.is_output && status == ZEROULP_OK) restore(x, now);
      demand(now == x.before, "nothing but elements of outputs is written");
    }
  }

 private:
  /// Puts the elements back to what they were.
  static void restore(const memory& x, std::vector<std::uint8_t>& now) {
    const zeroulp_matrix& v = x.view;
    if (v.data == nullptr) return;  // no memory, whatever its shape
    const auto* const base = static_cast<const std::uint8_t*>(v.data);
    for (std::int64_t i = 0; i < v.rows; ++i) {
      for (std::int64_t j = 0; j < v.cols; ++j) {
        const auto at = static_cast<std::size_t>(
            base - x.bytes.data() +
            (i * v.row_stride + j * v.col_stride) * v.element_bytes);
        std::copy_n(x.before.begin() + static_cast<std::ptrdiff_t>(at),
                    v.element_bytes,
                    now.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }

  memory* make(std::int64_t m, std::int64_t n, int bytes, bool is_output) {
    const auto kind = s_.byte();
    if (kind == 255) return nullptr;
    memory& x = all_.emplace_back();
    x.is_output = is_output;
    if (kind >= 245) {  // no memory, whatever the shape and strides
      x.view = {nullptr,     s_.number(), s_.number(),
                s_.number(), s_.number(), s_.rarely(4) ? s_.number() : bytes};
      return &x;
    }
    if (kind >= 235) m = s_.below(12);
    if (kind >= 225 && kind < 240) n = s_.below(12);
    if (kind >= 215 && kind < 230) bytes = 1 << s_.below(4);
    constexpr int gap = 3;
    std::int64_t by_row = n;
    std::int64_t by_col = 1;
    switch (kind % 6) {
      case 1:
        by_row = n + gap;
        break;
      case 2:
        by_row = 1;
        by_col = m + gap;
        break;
      case 3:
        by_row = 2 * n + gap;
        by_col = 2;
        break;
      case 4:
        by_row = -n - gap;
        by_col = m > 1 ? -1 : 1;
        break;
      case 5:
        if (!is_output) by_row = 0;
        break;
      default:
        break;
    }
    const auto lowest = [](std::int64_t count, std::int64_t by) {
      return count > 0 && by < 0 ? (count - 1) * by : 0;
    };
    const auto highest = [](std::int64_t count, std::int64_t by) {
      return count > 0 && by > 0 ? (count - 1) * by : 0;
    };
    const std::int64_t low = lowest(m, by_row) + lowest(n, by_col);
    const std::int64_t high = highest(m, by_row) + highest(n, by_col);
    const bool any = m > 0 && n > 0;
    const int odd = kind == 244 ? 1 : 0;  // not aligned
    x.bytes.resize(
        any ? static_cast<std::size_t>((high - low + 1) * bytes + odd) : 0);
    counter_rng rng(kind, s_.byte());
    for (auto& b : x.bytes) b = static_cast<std::uint8_t>(rng.next());
    x.before = x.bytes;
    x.view = {any ? x.bytes.data() + odd - low * bytes : nullptr,
              m,
              n,
              by_row,
              by_col,
              bytes};
    return &x;
  }

  source& s_;
  std::deque<memory> all_;
  std::deque<zeroulp_const_matrix> inputs_;
  std::deque<std::vector<std::uint64_t>> kept_;
};

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_LIBFUZZER_C_ABI_ARGUMENTS_HPP_
