#include "tools/study/error/study.hpp"

#include "src/base/threads.hpp"
#include "tools/study/error/distribution.hpp"

namespace zeroulp {
namespace {

std::vector<std::uint8_t> random_codes(const distribution& d,
                                       std::uint64_t seed, std::size_t count) {
  std::vector<std::uint8_t> codes(count);
  const auto n = static_cast<std::ptrdiff_t>(count);
#pragma omp parallel for schedule(static) num_threads(threads_for())
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const auto index = static_cast<std::size_t>(i);
    codes[index] =
        static_cast<std::uint8_t>(encode(e4m3, decode(draw(d, seed, index))));
  }
  return codes;
}

error_metrics compare(const std::vector<std::uint32_t>& computed,
                      const std::vector<double>& exact) {
  std::vector<double> values(computed.size());
  std::vector<double> errors(computed.size());
  for (std::size_t i = 0; i < computed.size(); ++i) {
    values[i] = static_cast<double>(bit_cast<float>(computed[i]));
    errors[i] = values[i] - exact[i];
  }
  error_accumulator sums;
  sums.add(values, exact, errors);
  return sums.result();
}

recipe with_interval(int interval, granularity a, granularity b) {
  const bool along_k = a.k > 0 || b.k > 0;
  return {.acc = hopper_fp8_f32,
          .interval = interval,
          .update = along_k ? promotion::product_of_scales : promotion::add,
          .a = a,
          .b = b,
          .splits = 1,
          .end = epilogue::store,
          .output = fp32};
}

}  // namespace

std::string interval_name(int interval) {
  return interval == 0 ? "none" : std::to_string(interval);
}

std::vector<study_cell> run_study(const study::scaled_operand& a,
                                  const study::scaled_operand& b,
                                  const std::string& name,
                                  const std::vector<int>& intervals,
                                  const study_progress& progress) {
  const std::ptrdiff_t m = a.elements->rows();
  const std::ptrdiff_t n = b.elements->rows();
  const std::ptrdiff_t k = a.elements->cols();
  const auto count = static_cast<std::size_t>(m * n);
  std::vector<double> exact(count);
  study::reference_products(a, b, {exact.data(), m, n});
  std::vector<study_cell> cells;
  const double work = static_cast<double>(count) * static_cast<double>(k);
  for (const int interval : intervals) {
    std::vector<std::uint32_t> d(count);
    engine::gemm(with_interval(interval, a.group, b.group), *a.elements,
                 a.scales, *b.elements, b.scales, {}, {d.data(), m, n});
    cells.push_back({name, k, interval, compare(d, exact)});
    progress(work * static_cast<double>(cells.size()),
             work * static_cast<double>(intervals.size()));
  }
  return cells;
}

std::vector<study_cell> run_study(const study_request& q,
                                  const study_progress& progress) {
  double total = 0;
  for (const auto k : q.k) {
    total += static_cast<double>(q.m) * static_cast<double>(q.n) *
             static_cast<double>(k) * static_cast<double>(q.intervals.size());
  }
  total *= static_cast<double>(std::size(named_distributions));
  std::vector<study_cell> cells;
  double before = 0;
  std::uint64_t stream = q.seed << 32;
  for (const auto& d : named_distributions) {
    for (const auto k : q.k) {
      const auto draw_operand = [&](std::ptrdiff_t rows) {
        const auto codes =
            random_codes(d, ++stream, static_cast<std::size_t>(rows * k));
        return prepared_operand(
            e4m3, matrix_view<const std::uint8_t>(codes.data(), rows, k));
      };
      const auto a = draw_operand(q.m);
      const auto b = draw_operand(q.n);
      double done = 0;
      const auto part =
          run_study({&a, per_tensor, {}}, {&b, per_tensor, {}}, name_of(d),
                    q.intervals, [&](double now, double) {
                      done = now;
                      progress(before + now, total);
                    });
      before += done;
      cells.insert(cells.end(), part.begin(), part.end());
    }
  }
  return cells;
}

}  // namespace zeroulp
