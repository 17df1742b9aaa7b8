// Asks a black box, and keeps what it answered.

#include "fuzz/probe/black_box.hpp"

#include <fmt/format.h>

#include <utility>

#include "fuzz/probe/mechanism.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {

std::size_t experiments::ask(std::vector<step_case> cases) {
  const std::size_t first = all_.size();
  if (cases.empty()) return first;
  if (!box_.takes_c) {
    for (step_case& s : cases) s.c = 0;
  }
  const auto answers = box_.run(cases);
  if (answers.size() != cases.size()) {
    throw input_error(fmt::format("{} gave {} outputs for {} steps", box_.name,
                                  answers.size(), cases.size()));
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto used = used_products(cases[i]);
    all_.push_back({std::move(cases[i]), answers[i], std::move(used)});
  }
  return first;
}

}  // namespace zeroulp::fuzz
