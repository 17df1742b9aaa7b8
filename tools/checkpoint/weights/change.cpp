#include "tools/checkpoint/weights/change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace zeroulp::checkpoint {
namespace {

bool is_before(const changed_number& a, const changed_number& b) {
  return a.row != b.row ? a.row < b.row : a.col < b.col;
}

}  // namespace

std::string change::group_text() const {
  const auto part = [](std::uint64_t at, std::int32_t size) {
    return size > 0 ? at / static_cast<std::uint64_t>(size) : 0;
  };
  return fmt::format("({}, {})", part(first.row, group.rows),
                     part(first.col, group.cols));
}

void change::add(const changed_number& n) {
  if (values++ == 0 || is_before(n, first)) first = n;
  const double size = std::max(std::fabs(n.before), std::fabs(n.after));
  const double difference = std::fabs(n.before - n.after) / size;
  // NaN against a number is as far as can be.
  largest = std::max(largest, std::isnan(difference) ? HUGE_VAL : difference);
}

void change::merge(const change& other) {
  count += other.count;
  codes += other.codes;
  if (other.values == 0) return;
  if (values == 0 || is_before(other.first, first)) first = other.first;
  values += other.values;
  largest = std::max(largest, other.largest);
}

}  // namespace zeroulp::checkpoint
