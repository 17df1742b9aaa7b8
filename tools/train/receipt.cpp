// Rows of a run's receipt as text, and the chain that binds them.

#include "tools/train/receipt.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "src/base/sha256.hpp"
#include "src/base/whole_number.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

/// A row but for its chain.
std::string text_of(const receipt_row& r) {
  return fmt::format("{},{:a},{:a},{:a},{}", r.step, r.report.loss,
                     r.report.norm, r.report.rate, r.state);
}

std::string_view take_cell(std::string_view& line) {
  const auto end = std::min(line.find(','), line.size());
  const auto cell = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return cell;
}

/// What is no number becomes one that is written otherwise.
double take_number(std::string_view& line) {
  return std::strtod(std::string(take_cell(line)).c_str(), nullptr);
}

}  // namespace

receipt::receipt(std::string_view settings) : first_(sha256_hex(settings)) {}

void receipt::add(const step_report& report, std::string state) {
  receipt_row row{static_cast<std::int64_t>(rows_.size()) + 1, report,
                  std::move(state), ""};
  row.chain = sha256_hex(last_chain() + text_of(row));
  rows_.push_back(std::move(row));
}

const receipt_row* receipt::find(std::int64_t step) const {
  if (step < 1 || step > static_cast<std::int64_t>(rows_.size())) {
    return nullptr;
  }
  return &rows_[static_cast<std::size_t>(step) - 1];
}

std::string receipt::lines() const {
  std::string all;
  for (const receipt_row& r : rows_) {
    all += fmt::format("{},{}\n", text_of(r), r.chain);
  }
  return all;
}

void receipt::read(std::string_view line, const std::filesystem::path& where) {
  std::string_view rest = line;
  const auto step = whole_number<std::int64_t>(take_cell(rest));
  const double loss = take_number(rest);
  const double norm = take_number(rest);
  const double rate = take_number(rest);
  add({loss, norm, rate}, std::string(take_cell(rest)));
  const receipt_row& row = rows_.back();
  if (step == row.step && line == fmt::format("{},{}", text_of(row), row.chain))
    return;
  throw input_error(
      fmt::format("{}: the row of step {} is damaged, or of another run",
                  where.string(), row.step));
}

}  // namespace zeroulp::train
