// engine::recode. In order of preference: FP32 numbers by the vector kernels, a
// table of all codes that the core makes, the core element by element.

#include <vector>

#include "src/arrays/lines.hpp"

namespace zeroulp::engine {
namespace {

/// A recoding of one matrix, whose views run along the same direction.
struct recoding {
  format from;
  const_code_view in;
  format to;
  code_view out;
  rounding mode;
  policy how;
  const_code_view random;  ///< null data: not read

  template <class Use>
  void for_each_line(Use use, double each = line_work) const {
    const bool in_rows = in.col_stride == 1 && out.col_stride == 1 &&
                         (random.data == nullptr || random.col_stride == 1);
    for_lines(in.rows, in.cols, in_rows, use, each);
  }

  const std::uint32_t* random_at(std::ptrdiff_t i, std::ptrdiff_t j,
                                 std::ptrdiff_t n, line_buffer& buffer) const {
    return random.data == nullptr ? nullptr : words_at(random, i, j, n, buffer);
  }
};

/// To FP32, exactly: the policy decides about Inf and NaN only.
void decode_matrix(const recoding& r) {
  const decoding d = make_decoding(r.from, r.how);
  r.for_each_line([&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
    line_buffer buffer;
    const bool in_rows = r.in.col_stride == 1;
    if (!in_rows) gather(r.in, i, j, n, buffer.word);
    const void* from = in_rows ? address(r.in, i, j) : buffer.word;
    const bool in_place = r.out.col_stride == 1 && r.out.bytes == 4;
    std::uint32_t* to = in_place
                            ? static_cast<std::uint32_t*>(address(r.out, i, j))
                            : buffer.word;
    decode_line(d, from, in_rows ? r.in.bytes : 4, to,
                static_cast<std::size_t>(n));
    if (!in_place) scatter(to, r.out, i, j, n);
  });
}

void encode_matrix(const recoding& r) {
  const number_reader numbers(r.from, r.in);
  const code_writer codes(r.to, r.mode, r.how, r.out);
  r.for_each_line([&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
    line_buffer buffer;
    line_buffer random;
    codes.write(numbers.read(i, j, n, buffer), r.random_at(i, j, n, random), i,
                j, n);
  });
}

/// Maps each code by `code(value, k)`, k being its place in the line.
template <class Code>
void map_matrix(const recoding& r, Code code, double each) {
  r.for_each_line(
      [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
        line_buffer buffer;
        line_buffer random;
        gather(r.in, i, j, n, buffer.word);
        const std::uint32_t* bits = r.random_at(i, j, n, random);
        for (std::ptrdiff_t k = 0; k < n; ++k) {
          buffer.word[k] = code(buffer.word[k], bits == nullptr ? 0u : bits[k]);
        }
        scatter(buffer.word, r.out, i, j, n);
      },
      each);
}

void run(const recoding& r) {
  if (r.to == fp32 && has_decoding(r.from)) return decode_matrix(r);
  // An FP32 code goes straight into the encoder, whatever that is.
  if (r.from == fp32 || (has_decoding(r.from) && has_encoding(r.to))) {
    return encode_matrix(r);
  }
  const auto one = [&r](std::uint32_t code, std::uint32_t random) {
    return static_cast<std::uint32_t>(
        recode(r.from, code, r.to, {r.mode, random}, r.how));
  };
  const std::ptrdiff_t count = r.in.rows * r.in.cols;
  const int bits = r.from.bits();
  if (bits <= 16 && r.random.data == nullptr && count >> bits >= 4) {
    std::vector<std::uint32_t> table(std::size_t{1} << bits);
    for (std::uint32_t code = 0; code < table.size(); ++code) {
      table[code] = one(code, 0);
    }
    const std::size_t mask = table.size() - 1;
    return map_matrix(
        r,
        [&](std::uint32_t code, std::uint32_t) { return table[code & mask]; },
        line_work);
  }
  map_matrix(r, one, core_work);
}

}  // namespace

void recode(format from, const_code_view in, format to, code_view out,
            rounding mode, policy how,
            matrix_view<const std::uint32_t> random) {
  check_width(from, in, "recode, input");
  check_width(to, out, "recode, output");
  check_shape(out, in.rows, in.cols, "recode, output", "the input is");
  const bool draws = mode == rounding::stochastic;
  if (draws) check_shape(random, in.rows, in.cols, "random bits", "codes are");
  if (by_reference()) {
    return reference::recode(from, in, to, out, mode, how, random);
  }
  const float_mode nearest(float_mode::nearest);
  recoding r{from, in, to, out, mode, how, {}};
  if (draws) r.random = random;
  if (runs_down(in)) {
    r.in = transposed(r.in);
    r.out = transposed(r.out);
    r.random = transposed(r.random);
  }
  if (is_dense(r.in) && is_dense(r.out) && (!draws || is_dense(r.random))) {
    const std::ptrdiff_t n = in.rows * in.cols;
    const auto flatten = [n](auto& v) {
      v.rows = 1;
      v.cols = v.row_stride = n;
    };
    flatten(r.in);
    flatten(r.out);
    flatten(r.random);
  }
  run(r);
}

}  // namespace zeroulp::engine
