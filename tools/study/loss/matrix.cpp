#include "tools/study/loss/matrix.hpp"

namespace zeroulp::loss {

void round_to(format to, matrix& x) {
  if (to == fp32) return;
  std::vector<std::uint32_t> codes(x.data.size());
  const matrix_view<std::uint32_t> narrow(codes.data(), x.rows, x.cols);
  engine::recode(fp32, x.words(), to, narrow, rounding::nearest_even,
                 cuda_nosat);
  engine::recode(to, narrow, fp32, x.words(), rounding::nearest_even,
                 cuda_nosat);
}

void add(format to, matrix& a, const matrix& b) {
  for (std::ptrdiff_t i = 0; i < a.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < a.cols; ++j) a.row(i)[j] += b.row(i)[j];
  }
  round_to(to, a);
}

}  // namespace zeroulp::loss
