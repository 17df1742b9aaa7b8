// Defines the target `decode`: codes of a format, as exact values.

#include <iterator>

#include "fuzz/targets/parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t { uniform, sweep, ends, special };

/// The spots where decoding may go wrong, by the code without its sign.
enum class spot : std::uint8_t {
  zero,
  smallest,
  subnormal,
  last_subnormal,
  first_normal,
  normal,
  largest,
  infinite,
  quiet_nan,
  other_nan,
};

spot spot_of(format f, std::uint64_t code) {
  const std::uint64_t magnitude = code & f.magnitude_mask();
  const std::uint64_t hidden = std::uint64_t{1} << f.man_bits;
  switch (code_kind_of(f, code)) {
    case code_kind::zero:
      return spot::zero;
    case code_kind::subnormal:
      return magnitude == 1            ? spot::smallest
             : magnitude == hidden - 1 ? spot::last_subnormal
                                       : spot::subnormal;
    case code_kind::normal:
      return magnitude == (f.has_sign() ? hidden : 0) ? spot::first_normal
                                                      : spot::normal;
    case code_kind::largest:
      return spot::largest;
    case code_kind::infinite:
      return spot::infinite;
    case code_kind::nan:
      break;
  }
  const bool quiet = f.kind != specials::ieee || (magnitude & hidden >> 1) != 0;
  return quiet ? spot::quiet_nan : spot::other_nan;
}

/// Returns true iff `f` has a code of this sign at this spot.
bool has_spot(format f, spot s, bool negative) {
  const bool is_scale = f.kind == specials::scale;
  if (is_scale && negative) return false;
  switch (s) {
    case spot::zero:
      return !is_scale && !(f.kind == specials::fnuz && negative);
    case spot::smallest:
      return f.man_bits > 0;
    case spot::subnormal:
    case spot::last_subnormal:
      return f.man_bits > 1;
    case spot::first_normal:
    case spot::normal:
    case spot::largest:
      return true;
    case spot::infinite:
      return f.has_infinity();
    case spot::quiet_nan:
      return f.has_nan() && (f.kind != specials::fnuz || negative);
    case spot::other_nan:
      break;
  }
  return f.kind == specials::ieee && f.man_bits > 1;
}

std::uint64_t element(format f, profile how, std::uint64_t nth,
                      counter_rng& rng) {
  const std::uint64_t hidden = std::uint64_t{1} << f.man_bits;
  switch (how) {
    case profile::uniform:
      return any_code(f, rng);
    case profile::sweep:
      return nth & low_bits(f.bits());
    case profile::ends: {
      const std::uint64_t ends[] = {0, hidden, f.max_code(),
                                    f.magnitude_mask()};
      const std::uint64_t code = ends[rng.below(4)] + rng.below(5) - 2;
      return with_any_sign(f, code & f.magnitude_mask(), rng);
    }
    case profile::special:
      break;
  }
  return code_of_kind(f, static_cast<code_kind>(rng.below(code_kinds)), rng);
}

void draw(settings& s, counter_rng& rng) { s.from = any_format(rng); }

std::string refuse(const settings&) { return ""; }

std::vector<operand_spec> operands_of(const settings& s) {
  return {{"x", s.from, {0, 1}, {'n', 1}}};
}

void fill(problem& p, int by, counter_rng& rng) {
  matrix x("x", p.with.from, 1, some_length(rng));
  std::uint64_t nth = rng.next();
  for (auto& word : x.words) {
    word = element(p.with.from, static_cast<profile>(by), nth++, rng);
  }
  p.in.clear();
  p.in.push_back(std::move(x));
}

std::string clauses(const problem& p, std::string_view output) {
  const bool is_scale = p.with.from.kind == specials::scale;
  if (output == "kind") return is_scale ? "F3" : "F1 F2";
  return is_scale ? "F3 F5" : "F1 F5";
}

/// A format for each index of format_axis.
format format_at(int index) {
  const auto i = static_cast<std::size_t>(index);
  return i < std::size(named_formats) ? named_formats[i].value
                                      : format{6, 9, 31, specials::ieee};
}

const bin_table& bins_of() {
  static const bin_table table = [] {
    bin_table t;
    t.add({format_axis("from"),
           {"code",
            {"zero", "smallest", "subnormal", "last_subnormal", "first_normal",
             "normal", "largest", "inf", "quiet_nan", "other_nan"}},
           sign_axis()},
          [](const bin_table::combination& at) {
            return has_spot(format_at(at[0]), static_cast<spot>(at[1]),
                            at[2] != 0);
          });
    return t;
  }();
  return table;
}

void cover(const problem& p, const outputs&, bin_counts bins) {
  const format f = p.with.from;
  const int name = index_of(f);
  for (const std::uint64_t code : p.in[0].words) {
    const int negative = (code & f.sign_mask()) != 0;
    bins_of().hit(bins, 0, name, spot_of(f, code), negative);
  }
}

}  // namespace

target_info decode_info() {
  return {target::decode,
          "decode",
          "codes of a format, as exact values",
          {"from"},
          {"uniform", "sweep", "ends", "special"},
          draw,
          refuse,
          operands_of,
          fill,
          run_decode,
          clauses,
          [] { return bins_of().names(); },
          cover};
}

}  // namespace zeroulp::fuzz
