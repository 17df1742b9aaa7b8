// Defines what the tests of array operations share: matrices in any storage,
// numbers of all kinds, every set of vector instructions in turn.

#ifndef ZEROULP_CONFORMANCE_TESTS_ENGINE_ARRAYS_PARTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_ENGINE_ARRAYS_PARTS_HPP_

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "zeroulp/arrays.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/simd.hpp"

namespace zeroulp {

using words = std::vector<std::uint32_t>;

/// Calls test(name) with each set of vector instructions in use.
template <class Test>
void with_every_simd(Test test) {
  const engine::simd before = engine::current_simd();
  for (const engine::simd set : engine::supported_simd()) {
    engine::use_simd(set);
    test(engine::named_simds[static_cast<int>(set)].name);
  }
  engine::use_simd(before);
}

/// How a matrix lies in memory.
enum class stored_as { dense, padded, by_columns, sparse };
constexpr stored_as storages[] = {stored_as::dense, stored_as::padded,
                                  stored_as::by_columns, stored_as::sparse};

/// Bytes up to the end of a page, after which there is no memory: who reads or
/// writes behind them ends the process.
class bounded_bytes {
 public:
  bounded_bytes(std::size_t size, std::uint8_t value) : size_(size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t whole = (size + page - 1) / page * page;
    void* memory = mmap(nullptr, whole + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    pages_ = {static_cast<std::uint8_t*>(memory), {whole + page}};
    if (mprotect(pages_.get() + whole, page, PROT_NONE) != 0) {
      throw std::bad_alloc();
    }
    data_ = pages_.get() + whole - size;
    std::fill_n(data_, size, value);
  }

  std::uint8_t* begin() { return data_; }
  std::uint8_t* end() { return data_ + size_; }

 private:
  struct unmap {
    std::size_t size;
    void operator()(std::uint8_t* memory) const { munmap(memory, size); }
  };
  std::size_t size_;
  std::unique_ptr<std::uint8_t, unmap> pages_;
  std::uint8_t* data_ = nullptr;
};

/// An m x n matrix of elements of 1, 2 or 4 bytes, behind another element. What
/// lies between the elements must stay as it is; nothing lies behind the last.
class stored {
 public:
  stored(stored_as how, int bytes, std::ptrdiff_t m, std::ptrdiff_t n)
      : rows_(m),
        cols_(n),
        row_(how == stored_as::by_columns ? 1
             : how == stored_as::sparse   ? 2 * n + 3
             : how == stored_as::padded   ? n + 5
                                          : n),
        col_(how == stored_as::by_columns ? m + 1
             : how == stored_as::sparse   ? 2
                                          : 1),
        bytes_(bytes),
        memory_(static_cast<std::size_t>(
                    bytes *
                    (m > 0 && n > 0 ? 2 + (m - 1) * row_ + (n - 1) * col_ : 1)),
                0xa5) {}

  engine::code_view view() {
    return {memory_.begin() + bytes_, rows_, cols_, row_, col_, bytes_};
  }
  template <class T>
  matrix_view<T> as() {
    return {reinterpret_cast<T*>(memory_.begin() + bytes_), rows_, cols_, row_,
            col_};
  }
  void fill(const words& codes) { each(codes.data(), nullptr); }
  words content() {
    words codes(static_cast<std::size_t>(rows_ * cols_));
    each(nullptr, codes.data());
    return codes;
  }
  /// True iff nothing but elements was written.
  bool is_intact() {
    fill(words(static_cast<std::size_t>(rows_ * cols_), 0xa5a5a5a5));
    return std::all_of(memory_.begin(), memory_.end(),
                       [](std::uint8_t byte) { return byte == 0xa5; });
  }

 private:
  void each(const std::uint32_t* in, std::uint32_t* out) {
    const auto go = [&](auto v) {
      using element = std::remove_reference_t<decltype(v(0, 0))>;
      for (std::ptrdiff_t i = 0; i < rows_; ++i) {
        for (std::ptrdiff_t j = 0; j < cols_; ++j) {
          if (in != nullptr) v(i, j) = static_cast<element>(*in++);
          if (out != nullptr) *out++ = v(i, j);
        }
      }
    };
    if (bytes_ == 1) return go(as<std::uint8_t>());
    if (bytes_ == 2) return go(as<std::uint16_t>());
    go(as<std::uint32_t>());
  }

  std::ptrdiff_t rows_, cols_, row_, col_;
  int bytes_;
  bounded_bytes memory_;
};

inline stored make_stored(stored_as how, int bytes, std::ptrdiff_t m,
                          std::ptrdiff_t n, const words& codes) {
  stored s(how, bytes, m, n);
  s.fill(codes);
  return s;
}

inline words random_words(std::uint64_t seed, std::size_t count) {
  words w(count);
  for (std::size_t i = 0; i < count; ++i) w[i] = counter_rng(seed, i).next32();
  return w;
}

/// FP32 numbers of one kind, or of all of them.
enum class family { ordinary, wide, tiny, specials_too, zeros };
constexpr family families[] = {family::ordinary, family::wide, family::tiny,
                               family::specials_too, family::zeros};

inline words make_numbers(family kind, std::uint64_t seed, std::size_t count) {
  words x(count);
  for (std::size_t i = 0; i < count; ++i) {
    counter_rng rng{seed, i};
    const std::uint32_t bits = rng.next32() & 0x807fffff;
    const auto with = [bits](int exponent) {
      return bits | static_cast<std::uint32_t>(exponent) << 23;
    };
    const std::uint32_t specials[] = {0,          0x80000000, 0x7f800000,
                                      0xff800000, 0x7fc00000, 0xffa00001,
                                      0x7f7fffff, 1};
    switch (kind) {
      case family::ordinary:
        x[i] = with(rng.between(117, 131));
        break;
      case family::wide:
        x[i] = with(rng.between(0, 254));
        break;
      case family::tiny:
        x[i] = with(rng.between(0, 60));
        break;
      case family::specials_too:
        x[i] = rng.one_in(5) ? specials[rng.below(8)] : with(127);
        break;
      case family::zeros:
        x[i] = rng.one_in(400) ? with(100) : bits & 0x80000000;
        break;
    }
  }
  return x;
}

struct group_count {
  std::ptrdiff_t m, n;
  std::size_t all() const { return static_cast<std::size_t>(m * n); }
};

inline group_count groups_of(group_shape g, std::ptrdiff_t m,
                             std::ptrdiff_t n) {
  return {ceil_div(m, g.height(m)), ceil_div(n, g.width(n))};
}

/// The exponent of the largest scale that keeps values within FP32.
inline int top_of(format from) {
  const unpacked max = decode(from, from.max_code());
  return 127 - msb(max.significand) - max.exponent;
}

/// Scales: powers of two, ordinary, about where the largest values leave FP32,
/// where the smallest do, and all that there are; then any FP32 numbers; then,
/// for the smallest codes alone, where they do.
inline words make_scales(int kind, format from, std::uint64_t seed,
                         std::size_t count) {
  const int top = top_of(from);
  const int bottom = -149 - from.quantum_exponent();
  auto scales = make_numbers(kind < 5 ? family::ordinary : family::specials_too,
                             seed, count);
  for (std::size_t i = 0; i < count; ++i) {
    counter_rng rng{seed + 1, i};
    const auto power = [&](int low, int high) {
      return pow2_as_fp32(std::clamp(rng.between(low, high), -149, 127));
    };
    if (kind == 0) scales[i] = power(-20, 20);
    if (kind == 1) scales[i] = power(top - 6, top + 1);
    if (kind == 2) scales[i] = power(bottom - 1, bottom + 6);
    if (kind == 3) scales[i] = power(-149, 127);
    if (kind == 4) scales[i] &= 0x7fffffff;
    if (kind == 6 && rng.one_in(2)) scales[i] = rng.next32();
    if (kind == 8) scales[i] = power(bottom - 1, bottom - 1);
  }
  return scales;
}

}  // namespace zeroulp

#endif  // ZEROULP_CONFORMANCE_TESTS_ENGINE_ARRAYS_PARTS_HPP_
