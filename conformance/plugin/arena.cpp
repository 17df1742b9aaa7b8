// The arena: lays out, fills and checks the matrices of a plug-in's request.

#include "conformance/plugin/arena.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "zeroulp/io.hpp"

namespace zeroulp::conformance::plugin {
namespace {

constexpr std::size_t alignment = 256;
static_assert(guard_bytes % alignment == 0);
/// By pass. A byte that a call wrote is unlikely to match both.
constexpr unsigned char fillings[] = {0xa5, 0x5b};

std::size_t aligned(std::size_t at, std::size_t to = alignment) {
  return (at + to - 1) / to * to;
}

struct strides {
  std::ptrdiff_t row, col;
};

strides strides_of(placement how, std::ptrdiff_t m, std::ptrdiff_t n) {
  switch (how) {
    case placement::dense:
      break;
    case placement::padded:
      return {n + 5, 1};
    case placement::transposed:
      return {1, m + 3};
    case placement::spread:
      return {2 * n + 7, 2};
  }
  return {n, 1};
}

}  // namespace

arena::arena(unsigned char* memory, std::size_t room, const operation_spec& of,
             std::vector<argument>& arguments, bool apart)
    : memory_(memory), of_(of), arguments_(arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& [words, bytes, how] = arguments[i];
    if (words.rows == 0) continue;
    const auto by = strides_of(how, words.rows, words.cols);
    const auto last = (words.rows - 1) * by.row + (words.cols - 1) * by.col;
    place p{i, used_, used_ + guard_bytes, 0, 0, by.row, by.col, {}};
    p.end = p.first + static_cast<std::size_t>((last + 1) * bytes);
    p.behind = aligned(p.end + guard_bytes, apart ? page_bytes() : alignment);
    used_ = p.behind + (apart ? gap_bytes : 0);
    places_.push_back(std::move(p));
  }
  if (used_ > room) {
    throw input_error(
        "a plug-in's request is beyond 512 MiB: use smaller "
        "matrices");
  }
}

std::string arena::words() const {
  std::string text = fmt::format("bytes={}", used_);
  for (const place& p : places_) {
    const auto& x = argument_of(p);
    text += fmt::format(" {}={}:{}:{}:{}:{}:{}", of_.matrices[p.spec].name,
                        p.first, x.words.rows, x.words.cols, p.row_stride,
                        p.col_stride, x.bytes);
  }
  return text;
}

/// Calls use(i, j, offset in the image, in bytes) for each element.
template <class Use>
void arena::for_each(const place& p, Use use) const {
  const auto& [words, bytes, how] = argument_of(p);
  for (std::ptrdiff_t i = 0; i < words.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < words.cols; ++j) {
      const auto at = (i * p.row_stride + j * p.col_stride) * bytes;
      use(i, j, guard_bytes + static_cast<std::size_t>(at));
    }
  }
}

void arena::fill(int pass) {
  for (place& p : places_) {
    p.image.assign(p.behind - p.begin, fillings[pass]);
    const auto& x = argument_of(p);
    if (role_of(p) != role::output) {
      for_each(p, [&](std::ptrdiff_t i, std::ptrdiff_t j, std::size_t at) {
        const std::uint32_t word = x.words(i, j);
        std::memcpy(&p.image[at], &word, static_cast<std::size_t>(x.bytes));
      });
    }
    std::copy(p.image.begin(), p.image.end(), memory_ + p.begin);
  }
}

void arena::take(int pass) {
  auto& results = results_[static_cast<std::size_t>(pass)];
  results.clear();
  for (const place& p : places_) {
    std::vector<unsigned char> now(memory_ + p.begin, memory_ + p.behind);
    const auto& x = argument_of(p);
    results.emplace_back(x.words.rows, x.words.cols);
    if (role_of(p) != role::input) {
      for_each(p, [&](std::ptrdiff_t i, std::ptrdiff_t j, std::size_t at) {
        const auto bytes = static_cast<std::size_t>(x.bytes);
        std::uint32_t word = 0;
        std::memcpy(&word, &now[at], bytes);
        results.back()(i, j) = word;
        std::memcpy(&now[at], &p.image[at], bytes);
      });
    }
    const auto [is, was] =
        std::mismatch(now.begin(), now.end(), p.image.begin());
    if (is != now.end()) {
      accuse(static_cast<std::ptrdiff_t>(p.begin) + (is - now.begin()));
    }
  }
}

void arena::accuse(std::ptrdiff_t at, const std::string& did) const {
  // Blame the nearest matrix; on a tie, the first.
  const place* nearest = nullptr;
  std::ptrdiff_t least = 0;
  for (const place& p : places_) {
    const auto first = static_cast<std::ptrdiff_t>(p.first);
    const auto end = static_cast<std::ptrdiff_t>(p.end);
    const auto distance =
        at < first ? first - at : std::max(at - end + 1, std::ptrdiff_t{0});
    if (nearest != nullptr && distance >= least) continue;
    nearest = &p;
    least = distance;
  }
  if (nearest == nullptr) throw call_failure(fault::outside, did);
  const place& p = *nearest;
  const char* const name = of_.matrices[p.spec].name;
  const auto inside = at - static_cast<std::ptrdiff_t>(p.first);
  if (least == 0 && role_of(p) == role::input) {
    throw call_failure(
        fault::wrote_input,
        fmt::format("{} into its input {}, byte {}", did, name, inside));
  }
  const auto row = std::max(p.row_stride, p.col_stride);
  throw call_failure(
      fault::outside,
      inside < 0 ? fmt::format("{} {} bytes in front of {}", did, least, name)
      : least > 0
          ? fmt::format("{} {} bytes behind the end of {}", did, least, name)
          : fmt::format("{} between the elements of {}, at byte {} of rows "
                        "of {} bytes",
                        did, name, inside, row * argument_of(p).bytes));
}

void arena::check_results(std::size_t n) const {
  const place& p = places_[n];
  const argument& x = argument_of(p);
  for (std::ptrdiff_t i = 0; i < x.words.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.words.cols; ++j) {
      const std::uint32_t one = results_[0][n](i, j);
      const std::uint32_t two = results_[1][n](i, j);
      if (one == two) continue;
      const std::uint32_t mask = x.bytes == 4 ? ~0u : (1u << 8 * x.bytes) - 1;
      const bool kept = one == (fillings[0] * 0x01010101u & mask) &&
                        two == (fillings[1] * 0x01010101u & mask);
      const char* const name = of_.matrices[p.spec].name;
      if (kept && role_of(p) == role::output) {
        throw call_failure(fault::unwritten, fmt::format("left {}({}, {}) "
                                                         "unwritten",
                                                         name, i, j));
      }
      throw call_failure(
          fault::unsteady,
          fmt::format("made {}({}, {}) {:x}, and {:x} when called again", name,
                      i, j, one, two));
    }
  }
}

void arena::finish() {
  for (std::size_t n = 0; n < places_.size(); ++n) {
    if (role_of(places_[n]) != role::input) check_results(n);
  }
  for (std::size_t n = 0; n < places_.size(); ++n) {
    const place& p = places_[n];
    if (role_of(p) == role::input) continue;
    arguments_[p.spec].words = std::move(results_[0][n]);
  }
}

std::vector<std::vector<std::uint32_t>> arena::results(int pass) const {
  std::vector<std::vector<std::uint32_t>> all;
  for (std::size_t n = 0; n < places_.size(); ++n) {
    if (role_of(places_[n]) == role::input) continue;
    all.push_back(results_[static_cast<std::size_t>(pass)][n].words);
  }
  return all;
}

}  // namespace zeroulp::conformance::plugin
