#include <fmt/format.h>

#include "src/base/threads.hpp"
#include "src/gemm/tile.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {
namespace {

/// Returns true iff a binary format of `man` fraction bits and the exponents of
/// FP32 holds every number of `f`, normal ones as such.
bool holds(int man, format f) {
  const unpacked max = decode(f, f.max_code());
  return f.man_bits <= man && f.min_exponent() >= -126 &&
         msb(max.significand) + max.exponent <= 127;
}

/// The value of a code, FP32 bits.
std::uint32_t value_bits(format f, std::uint64_t code) {
  return static_cast<std::uint32_t>(
      encode(fp32, decode(f, code), {}, ocp_nonsaturate));
}

std::vector<std::uint32_t> value_table(format f) {
  std::vector<std::uint32_t> table(std::size_t{1} << f.bits());
  for (std::size_t code = 0; code < table.size(); ++code) {
    table[code] = value_bits(f, code);
  }
  return table;
}

template <class Code>
auto reader(const engine::const_code_view& x) {
  return [x](std::ptrdiff_t i, std::ptrdiff_t k) -> std::uint32_t {
    return static_cast<const Code*>(
        x.data)[i * x.row_stride + k * x.col_stride];
  };
}

/// Calls `use` with what reads element (i, k).
template <class Use>
void with_reader(const engine::const_code_view& x, Use use) {
  x.bytes == 1   ? use(reader<std::uint8_t>(x))
  : x.bytes == 2 ? use(reader<std::uint16_t>(x))
                 : use(reader<std::uint32_t>(x));
}

/// The step's panels read whole steps, also behind the last element.
constexpr std::ptrdiff_t depth_of(std::ptrdiff_t cols) {
  return ceil_div(cols, max_step) * max_step + max_step;
}

constexpr int height_of(std::ptrdiff_t rows) {
  return rows >= block_rows ? block_rows
                            : static_cast<int>(ceil_div(rows, 16) * 16);
}

}  // namespace

prepared_operand::prepared_operand(format f, engine::const_code_view codes)
    : format_(f),
      rows_(codes.rows),
      cols_(codes.cols),
      depth_(depth_of(codes.cols)) {
  if (f.bits() > 8 * codes.bytes) {
    throw input_error(fmt::format("operand: {} has {} bits, its codes {}",
                                  name_of(f), f.bits(), 8 * codes.bytes));
  }
  // Nothing is stored of nothing, however many rows it has.
  if (codes.is_empty()) return;
  special_.resize(static_cast<std::size_t>(rows_));
  const bool small = holds(7, f);
  if (!small && !holds(23, f)) {
    codes_.resize(static_cast<std::size_t>(rows_ * cols_));
    with_reader(codes, [&](auto read) {
      for (std::ptrdiff_t i = 0; i < rows_; ++i) {
        for (std::ptrdiff_t k = 0; k < cols_; ++k) {
          const std::uint32_t code = read(i, k);
          codes_[static_cast<std::size_t>(i * cols_ + k)] = code;
          if (decode(f, code).is_finite()) continue;
          special_[static_cast<std::size_t>(i)] = 1;
        }
      }
    });
    return;
  }
  const std::ptrdiff_t whole = rows_ / block_rows * block_rows;
  const auto elements = static_cast<std::size_t>(
      depth_ * (whole + (rows_ > whole ? height_of(rows_ - whole) : 0)));
  small ? bf16_.resize(elements) : fp32_.resize(elements);
  with_reader(codes, [&](auto read) {
    if (f == fp32) {
      pack(read);
    } else if (f == bf16) {
      pack(
          [&](std::ptrdiff_t i, std::ptrdiff_t k) { return read(i, k) << 16; });
    } else if (f.bits() <= 16 && (rows_ * cols_) >> f.bits() != 0) {
      const auto table = value_table(f);
      const auto mask = static_cast<std::uint32_t>(table.size() - 1);
      pack([&](std::ptrdiff_t i, std::ptrdiff_t k) {
        return table[read(i, k) & mask];
      });
    } else {
      pack([&](std::ptrdiff_t i, std::ptrdiff_t k) {
        return value_bits(f, read(i, k));
      });
    }
  });
}

template <class Read>
void prepared_operand::pack(Read read) {
  [[maybe_unused]] const double work =
      line_work * static_cast<double>(rows_) * static_cast<double>(cols_);
#pragma omp parallel for schedule(static) num_threads(threads_for(work))
  for (std::ptrdiff_t row = 0; row < rows_; row += block_rows) {
    const place to = block_of(row);
    const std::ptrdiff_t rows =
        std::min<std::ptrdiff_t>(rows_ - row, to.height);
    for (std::ptrdiff_t first = 0; first < cols_; first += max_step) {
      const std::ptrdiff_t end =
          std::min<std::ptrdiff_t>(cols_, first + max_step);
      for (std::ptrdiff_t i = 0; i < rows; ++i) {
        std::uint32_t special = 0;
        for (std::ptrdiff_t k = first; k < end; ++k) {
          const std::uint32_t bits = read(row + i, k);
          const auto at = to.at + static_cast<std::size_t>(k * to.height + i);
          special |= (bits & 0x7f800000) == 0x7f800000 ? 1u : 0u;
          if (!bf16_.empty()) {
            bf16_[at] = static_cast<std::uint16_t>(bits >> 16);
          } else {
            fp32_[at] = bit_cast<float>(bits);
          }
        }
        if (special != 0) special_[static_cast<std::size_t>(row + i)] = 1;
      }
    }
  }
}

prepared_operand::place prepared_operand::block_of(std::ptrdiff_t row) const {
  const std::ptrdiff_t first = row / block_rows * block_rows;
  return {static_cast<std::size_t>(first * depth_), height_of(rows_ - first)};
}

unpacked prepared_operand::value(std::ptrdiff_t i, std::ptrdiff_t k) const {
  if (!is_packed()) {
    return decode(format_, codes_[static_cast<std::size_t>(i * cols_ + k)]);
  }
  const place from = block_of(i);
  const auto at =
      from.at + static_cast<std::size_t>(k * from.height + i % block_rows);
  const std::uint32_t bits = bf16_.empty()
                                 ? bit_cast<std::uint32_t>(fp32_[at])
                                 : static_cast<std::uint32_t>(bf16_[at]) << 16;
  unpacked x = decode(fp32, bits);
  if (x.kind != kind::finite) return x;
  // In the format's own terms: its quantum at this exponent.
  const int top = msb(x.significand) + x.exponent;
  const int exponent = std::max(top, format_.min_exponent()) - format_.man_bits;
  const int shift = exponent - x.exponent;
  x.significand = shift >= 0 ? x.significand >> shift : x.significand << -shift;
  x.exponent = exponent;
  return x;
}

tile_side prepared_operand::side(std::ptrdiff_t row, int min_exponent) const {
  tile_side side{
      bf16_.empty() ? storage::four_bytes : storage::two_bytes,
      {},
      static_cast<int>(std::min<std::ptrdiff_t>(rows_ - row, tile_rows)),
      min_exponent};
  for (int i = 0; i * block_rows < side.rows; ++i) {
    const place from = block_of(row + i * block_rows);
    const void* data = bf16_.empty()
                           ? static_cast<const void*>(fp32_.data() + from.at)
                           : static_cast<const void*>(bf16_.data() + from.at);
    side.blocks[i] = {data, from.height};
  }
  return side;
}

}  // namespace zeroulp
