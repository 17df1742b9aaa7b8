// Requests that a plug-in answered or refused, and whether they prove enough.

#include "fuzz/engine/answers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zeroulp::fuzz {
namespace {

thread_local request_log* current = nullptr;

std::array<std::ptrdiff_t, claim_answers::measures.size()> measured(
    const request_size& s) {
  return {s.elements, s.rows, s.cols};
}

void unite(std::vector<bool>& all, const std::vector<bool>& part) {
  if (all.size() < part.size()) all.resize(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i]) all[i] = true;
  }
}

/// "cases=a, cases=b and 7 more"
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  const auto shown = std::min(names.size(), most);
  const auto last = names.begin() + static_cast<std::ptrdiff_t>(shown);
  std::string text = fmt::format("{}", fmt::join(names.begin(), last, ", "));
  if (names.size() > most) {
    text += fmt::format(" and {} more", names.size() - most);
  }
  return text;
}

std::string missed_bins(const claim_answers& a,
                        const std::vector<std::string>& bins) {
  std::vector<std::string> missed;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < a.asked.size(); ++i) {
    if (!a.asked[i]) continue;
    ++asked;
    if (!a.reached[i]) missed.push_back(bins[i]);
  }
  if (missed.empty()) return "";
  return fmt::format("{} of {} bins not reached: {}", missed.size(), asked,
                     listed(missed));
}

/// The reason if size alone decides what is refused, or if all answered
/// requests are far smaller than those asked; else "".
std::string small_sizes(const claim_answers& a) {
  constexpr std::uint64_t least = 3;  // fewer refusals may be chance
  if (a.refused < least || a.answered == 0) return "";
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const auto& r = a.sizes[i];
    if (r.most_answered >= r.least_refused &&
        2 * r.most_answered >= r.most_asked) {
      continue;
    }
    return fmt::format(
        "it answers only small sizes: up to {} {}, of up to {} asked",
        r.most_answered, claim_answers::measures[i], r.most_asked);
  }
  return "";
}

}  // namespace

request_log::request_log() { current = this; }

request_log::~request_log() { current = nullptr; }

void request_log::tell(const request& r) {
  if (current != nullptr) current->requests_.push_back(r);
}

void request_log::refuse_last() {
  if (current != nullptr) current->requests_.back().answered = false;
}

bool request_log::all_answered() const {
  return !requests_.empty() &&
         std::all_of(requests_.begin(), requests_.end(),
                     [](const request& r) { return r.answered; });
}

bool request_log::made(std::string_view output) const {
  return std::any_of(
      requests_.begin(), requests_.end(), [output](const request& r) {
        return r.answered && std::find(r.outputs.begin(), r.outputs.end(),
                                       output) != r.outputs.end();
      });
}

void claim_answers::add(const request& r) {
  const auto lengths = measured(r.size);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    range& of = sizes[i];
    of.most_asked = std::max(of.most_asked, lengths[i]);
    if (r.answered) {
      of.most_answered = std::max(of.most_answered, lengths[i]);
    } else {
      of.least_refused =
          refused == 0 ? lengths[i] : std::min(of.least_refused, lengths[i]);
    }
  }
  ++(r.answered ? answered : refused);
}

void claim_answers::cover(std::span<const std::uint64_t> hits,
                          bool all_answered) {
  if (asked.size() < hits.size()) {
    asked.resize(hits.size());
    reached.resize(hits.size());
  }
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (hits[i] == 0) continue;
    asked[i] = true;
    if (all_answered) reached[i] = true;
  }
}

void claim_answers::join(const claim_answers& part) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    range& of = sizes[i];
    const range& other = part.sizes[i];
    of.most_asked = std::max(of.most_asked, other.most_asked);
    of.most_answered = std::max(of.most_answered, other.most_answered);
    if (part.refused > 0) {
      of.least_refused = refused == 0
                             ? other.least_refused
                             : std::min(of.least_refused, other.least_refused);
    }
  }
  answered += part.answered;
  refused += part.refused;
  unite(asked, part.asked);
  unite(reached, part.reached);
}

void join(all_answers& all, const all_answers& part) {
  if (all.size() < part.size()) all.resize(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) all[i].join(part[i]);
}

std::string why_vacuous(const claim_answers& a,
                        const std::vector<std::string>& bins,
                        std::uint64_t cases, std::uint64_t standard) {
  if (a.answered + a.refused == 0) return "";
  std::vector<std::string> reasons;
  const auto add = [&reasons](std::string why) {
    if (!why.empty()) reasons.push_back(std::move(why));
  };
  add(small_sizes(a));
  add(missed_bins(a, bins));
  if (cases < standard) {
    add(fmt::format(
        "{} of the {} cases of a standard run, which reach all bins", cases,
        standard));
  }
  if (a.answered < a.refused || (a.refused > 0 && !reasons.empty())) {
    reasons.insert(reasons.begin(),
                   fmt::format("{} of {} requests refused", a.refused,
                               a.answered + a.refused));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace zeroulp::fuzz
