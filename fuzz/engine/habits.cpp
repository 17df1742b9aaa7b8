// The habits of code that answers without computing: properties that all its
// answers have, whatever was asked.

#include <algorithm>
#include <array>
#include <limits>

#include "fuzz/engine/causes.hpp"
#include "fuzz/engine/enlarge.hpp"
#include "zeroulp/core/convert.hpp"

namespace zeroulp::fuzz {
namespace {

/// A case, and the outputs of both sides. An output that `right` did not make
/// itself is empty.
struct sample {
  problem p;
  outputs core;
  outputs right;
};
using samples = std::vector<sample>;

sample sample_of(const problem& p, const opponent& right) {
  sample s{p, run(core_opponent(), p), {}};
  const request_log log;
  s.right = run(right, p);
  if (failure_in(s.right)) s.right.clear();
  for (matrix& x : s.right) {
    if (!log.made(x.name)) x.words.clear();
  }
  return s;
}

/// Samples the case, and others with its settings, some of them large.
samples take_samples(const problem& p, const opponent& right, int more) {
  samples all{sample_of(p, right)};
  const pins settled = [&p](settings& s) { s = p.with; };
  counter_rng rng(1, 0);
  for (int i = 0; i < more; ++i) {
    problem next =
        generate(p.what, -1, 1, static_cast<std::uint64_t>(i), settled);
    constexpr int large = 8;
    if (i % large == large - 1) next = grown_in_time(next, rng);
    all.push_back(sample_of(next, right));
  }
  std::erase_if(all, [](const sample& s) {
    return std::all_of(s.right.begin(), s.right.end(),
                       [](const matrix& x) { return x.words.empty(); });
  });
  return all;
}

using codes = std::vector<std::uint64_t>;

/// Returns true iff the shorter is a prefix of the longer.
bool begins(const codes& x, const codes& y) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(x.size(), y.size()));
  return std::equal(x.begin(), x.begin() + count, y.begin());
}

bool is_zeros(const codes& x) {
  return std::all_of(x.begin(), x.end(), [](auto word) { return word == 0; });
}

codes bytes_in(const matrix& x) {
  codes bytes;
  for (const auto word : x.words) {
    for (int i = 0; i < storage_bytes(x.type); ++i) {
      bytes.push_back(word >> 8 * i & 0xff);
    }
  }
  return bytes;
}

/// The ways to copy one matrix into another: its bytes, the low or the high
/// bits of each element, its numbers.
enum class copying { bytes, low, high, numbers };
constexpr std::array<copying, 4> all_copying = {
    copying::bytes, copying::low, copying::high, copying::numbers};

bool is_copy(const matrix& from, const matrix& to, copying how) {
  if (how == copying::bytes) return begins(bytes_in(from), bytes_in(to));
  const int shift = std::max(0, from.type.bits() - to.type.bits());
  codes taken;
  for (const auto word : from.words) {
    taken.push_back(how == copying::low ? word & low_bits(to.type.bits())
                    : how == copying::high
                        ? word >> shift
                        : encode(to.type, decode(from.type, word)));
  }
  return begins(taken, to.words);
}

/// A source that may be copied into output n: an input, or an earlier output.
const matrix* source_of(const sample& s, const outputs& made, std::size_t n,
                        std::size_t which) {
  if (which < s.p.in.size()) return &s.p.in[which];
  const std::size_t earlier = which - s.p.in.size();
  return earlier < n ? &made[earlier] : nullptr;
}

/// Calls `fits(sample, outputs)` with the outputs of `right`, where it made
/// output n, and with those of the core. Returns true iff all of right's fit
/// and some of the core's do not: what the core does as well is no habit.
template <class Fits>
bool holds_of(const samples& all, std::size_t n, Fits fits) {
  bool core_too = true;
  for (const sample& s : all) {
    if (s.right[n].words.empty()) continue;
    if (!fits(s, s.right)) return false;
    core_too = core_too && fits(s, s.core);
  }
  return !core_too;
}

bool answers_zeros(const samples& all, std::size_t n) {
  return holds_of(all, n, [n](const sample&, const outputs& made) {
    return is_zeros(made[n].words);
  });
}

bool answers_the_same(const samples& all, std::size_t n) {
  const sample* longest = &all[0];
  for (const sample& s : all) {
    if (s.right[n].words.size() > longest->right[n].words.size()) longest = &s;
  }
  return holds_of(all, n, [&](const sample&, const outputs& made) {
    return begins(made[n].words, longest->right[n].words);
  });
}

/// Returns the name of what is copied into output n; "" if nothing is.
std::string copied_into(const samples& all, std::size_t n) {
  for (std::size_t which = 0; source_of(all[0], all[0].core, n, which);
       ++which) {
    for (const copying how : all_copying) {
      const bool copies =
          holds_of(all, n, [&](const sample& s, const outputs& made) {
            const matrix* from = source_of(s, made, n, which);
            // An output that `right` did not make is empty: take the core's.
            if (from->words.empty()) from = source_of(s, s.core, n, which);
            return !from->words.empty() && is_copy(*from, made[n], how);
          });
      if (copies) return source_of(all[0], all[0].core, n, which)->name;
    }
  }
  return "";
}

/// Returns true iff everything that `right` answered equals the core's.
bool is_right(const sample& s) {
  for (std::size_t n = 0; n < s.right.size(); ++n) {
    if (!s.right[n].words.empty() && !(s.right[n] == s.core[n])) return false;
  }
  return true;
}

/// Returns the size of input `of` up to which all is right and beyond which
/// nearly nothing is; 0 if there is none.
std::size_t right_up_to(const samples& all, std::size_t of) {
  const auto size = [of](const sample& s) { return s.p.in[of].words.size(); };
  auto first_wrong = std::numeric_limits<std::size_t>::max();
  for (const sample& s : all) {
    if (!is_right(s)) first_wrong = std::min(first_wrong, size(s));
  }
  std::size_t most = 0, below = 0, wrong = 0, beyond = 0;
  for (const sample& s : all) {
    const bool small = size(s) < first_wrong;
    if (small) most = std::max(most, size(s));
    ++(small ? below : beyond);
    if (!is_right(s)) ++wrong;
  }
  // Some answers may be right by chance, zeros for example.
  constexpr std::size_t least = 4;
  const bool splits =
      below >= least && wrong >= least && 4 * wrong >= 3 * beyond;
  return splits ? most : 0;
}

/// The case with zeros for inputs.
problem zeroed(problem p) {
  for (matrix& x : p.in) std::fill(x.words.begin(), x.words.end(), 0);
  return p;
}

/// Returns true iff the case with zeros, asked after the case, gets the right
/// outputs of the case.
bool answers_late(const problem& p, const opponent& right) {
  const sample before = sample_of(p, right);
  const sample now = sample_of(zeroed(p), right);
  bool any = false;
  for (std::size_t n = 0; n < now.right.size(); ++n) {
    if (now.right[n].words.empty()) continue;
    if (!begins(now.right[n].words, before.core[n].words)) return false;
    any = any || !(before.core[n] == now.core[n]);
  }
  return any;
}

/// " (codes, scales)"; "" if these are all outputs that `right` makes.
std::string part_of(const std::vector<const char*>& names, const samples& all) {
  std::size_t makes = 0;
  for (std::size_t n = 0; n < all[0].right.size(); ++n) {
    if (!all[0].right[n].words.empty()) ++makes;
  }
  if (names.size() >= makes) return "";
  std::string text;
  for (const char* name : names) {
    text += (text.empty() ? " (" : ", ") + std::string(name);
  }
  return text + ")";
}

}  // namespace

std::vector<cause> name_habits(const problem& p, const opponent& right,
                               int more) {
  std::vector<cause> causes;
  const samples all = take_samples(p, right, more);
  constexpr std::size_t least = 8;  // with fewer, much is true by chance
  if (all.size() < least) return causes;
  const int count = static_cast<int>(all.size()) - 1;
  const auto add = [&](const char* name, const std::string& what) {
    causes.push_back({std::string("habit:") + name, what, count, count});
  };
  std::vector<const char*> zeros, same;
  for (std::size_t n = 0; n < all[0].core.size(); ++n) {
    if (answers_zeros(all, n)) {
      zeros.push_back(all[0].core[n].name);
    } else if (answers_the_same(all, n)) {
      same.push_back(all[0].core[n].name);
    } else if (const auto from = copied_into(all, n); !from.empty()) {
      add("copies",
          "copies its input " + from + part_of({all[0].core[n].name}, all));
    }
  }
  if (!zeros.empty()) {
    add("zeros", "answers zeros whatever is asked" + part_of(zeros, all));
  }
  if (!same.empty()) {
    add("same", "answers the same whatever is asked" + part_of(same, all));
  }
  if (!causes.empty()) return causes;
  for (std::size_t of = 0; of < p.in.size(); ++of) {
    const auto most = right_up_to(all, of);
    if (most == 0) continue;
    add("small", "answers only small sizes: right up to " +
                     std::to_string(most) + " elements of " + p.in[of].name +
                     ", wrong beyond");
    return causes;
  }
  if (answers_late(p, right)) {
    add("late", "answers the outputs of the call before");
  }
  return causes;
}

bool is_stateful(const problem& p, const opponent& right) {
  const outputs first = run(right, p);
  run(right, zeroed(p));
  return !same(first, run(right, p));
}

}  // namespace zeroulp::fuzz
