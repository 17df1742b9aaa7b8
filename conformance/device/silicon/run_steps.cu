// Runs single steps of the tensor core, for callers with a few cases.

#include "conformance/device/device.hpp"
#include "conformance/device/support/batch.hpp"

namespace zeroulp::conformance::device {
namespace {

bool contains(const std::vector<path>& all, const path& p) {
  return std::find(all.begin(), all.end(), p) != all.end();
}

/// Case i is row i and column i of a tile; only the diagonal of D is used.
constexpr int cases_of_a_tile = batch_rows;

/// Stores codes in a row as the instruction reads them.
void put(std::vector<unsigned char>& rows, std::size_t row, format f,
         const std::vector<std::uint64_t>& codes, int count) {
  const element_layout e = layout_of(f);
  for (int k = 0; k < count; ++k) {
    const auto word = static_cast<std::uint32_t>(
        codes[static_cast<std::size_t>(k)] << e.unused_bits);
    for (int i = 0; i < e.bytes; ++i) {  // little end first
      rows[row * row_bytes + static_cast<std::size_t>(k * e.bytes + i)] =
          static_cast<unsigned char>(word >> (8 * i));
    }
  }
}

template <class T>
void copy_to_device(T* to, const std::vector<T>& from) {
  require(cudaMemcpy(to, from.data(), from.size() * sizeof(T),
                     cudaMemcpyHostToDevice));
}

}  // namespace

bool has_instruction(const path& p) {
  return contains(wgmma_paths(), p) || contains(mma_paths(), p);
}

std::vector<std::uint64_t> run_steps(const path& p,
                                     const std::vector<step_case>& cases,
                                     bool by_mma) {
  const bool is_wgmma = contains(wgmma_paths(), p) && !by_mma;
  const unit by = is_wgmma ? unit::wgmma : unit::mma;
  const std::size_t tiles =
      (cases.size() + cases_of_a_tile - 1) / cases_of_a_tile;
  if (tiles == 0) return {};
  std::vector<unsigned char> a(tiles * batch_rows * row_bytes);
  std::vector<unsigned char> b(tiles * batch_cols * row_bytes);
  std::vector<std::uint32_t> c(tiles * batch_outputs);
  const auto output = [](std::size_t i) {
    const std::size_t row = i % cases_of_a_tile;
    return i / cases_of_a_tile * batch_outputs + row * batch_cols + row;
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::size_t row = i % cases_of_a_tile;
    const std::size_t tile = i / cases_of_a_tile;
    put(a, tile * batch_rows + row, p.a, cases[i].a, cases[i].count);
    put(b, tile * batch_cols + row, p.b, cases[i].b, cases[i].count);
    c[output(i)] = static_cast<std::uint32_t>(cases[i].c);
  }
  const batch_memory memory(p, static_cast<int>(tiles));
  const batch& x = memory.value();
  copy_to_device(x.a, a);
  copy_to_device(x.b, b);
  copy_to_device(x.c, c);
  multiply(x, by);
  finish_kernel();
  require(cudaMemcpy(c.data(), x.d, c.size() * sizeof(std::uint32_t),
                     cudaMemcpyDeviceToHost));
  std::vector<std::uint64_t> d;
  for (std::size_t i = 0; i < cases.size(); ++i) d.push_back(c[output(i)]);
  return d;
}

}  // namespace zeroulp::conformance::device
