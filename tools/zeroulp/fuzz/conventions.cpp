// fuzz conventions: how often two quantizer conventions disagree, and where.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "fuzz/engine/disagreement.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/tensor/tensor_dir.hpp"

namespace zeroulp::program {
namespace {

using fuzz::disagreement;

struct conventions_request {
  std::uint64_t cases = 2000;
  std::uint64_t seed = 1;
  std::string format = "e4m3";
  std::string group = "1x128";
  std::string scale;
  std::string out;
  bool as_json = false;
};

const char* name_of_convention(std::size_t i) {
  return named_conventions[i].name;
}

std::string name_of_data(const disagreement& d) {
  return fmt::format(
      "{} {}", name_of(d.from),
      d.data == fuzz::group_data::normal ? "normal" : "boundary");
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (part == 0) return "0";
  return fmt::format("{:.3g}%", 100.0 * static_cast<double>(part) /
                                    static_cast<double>(whole));
}

/// In percent, as short as a narrow column wants it; the CSV has the counts.
std::string share(std::uint64_t part, std::uint64_t whole) {
  const double x =
      100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part > 0 && x < 0.1) return "<0.1";
  if (x < 10) return fmt::format("{:.2g}", x);
  return fmt::format("{:.0f}", part < whole ? std::min(x, 99.0) : x);
}

/// A pair a row; the shares of scales and of codes for each kind of data.
table pair_table(const std::vector<disagreement>& all) {
  table t{{"convention", "convention"}, {}};
  for (const auto& d : all) {
    t.columns.push_back(name_of_data(d) + ": scales");
    t.columns.push_back("codes");
  }
  for (std::size_t p = 0; p < all[0].pairs.size(); ++p) {
    const auto& pair = all[0].pairs[p];
    t.rows.push_back(
        {name_of_convention(pair.first), name_of_convention(pair.second)});
    for (const auto& d : all) {
      t.rows.back().push_back(percent(d.pairs[p].scales_differ, d.scales));
      t.rows.back().push_back(percent(d.pairs[p].codes_differ, d.codes));
    }
  }
  return t;
}

/// A convention a row and a column: codes above the diagonal, scales below.
table matrix_table(const disagreement& d) {
  table t{{""}, {}};
  for (const auto& row : named_conventions) {
    t.columns.emplace_back(row.name);
    t.rows.push_back({row.name});
    t.rows.back().resize(fuzz::convention_count + 1, "-");
  }
  for (const auto& p : d.pairs) {
    t.rows[p.first][p.second + 1] = share(p.codes_differ, d.codes);
    t.rows[p.second][p.first + 1] = share(p.scales_differ, d.scales);
  }
  return t;
}

std::string amax_text(const fuzz::disagreement_example& e) {
  const auto text = describe(fp32, e.amax);
  return e.special == 0 ? text : text + " and " + describe(fp32, e.special);
}

/// An example of each disagreement of `d`.
table example_table(const disagreement& d, format to) {
  table t{{"convention", "convention", "amax", "x", "gives", "gives"}, {}};
  for (const auto& p : d.pairs) {
    const auto add = [&](const auto& e, const std::string& x, format f) {
      t.rows.push_back({name_of_convention(p.first),
                        name_of_convention(p.second), amax_text(e), x,
                        describe(f, e.first), describe(f, e.second)});
    };
    if (p.scale) add(*p.scale, "(scale)", fp32);
    if (p.code) add(*p.code, describe(fp32, p.code->x), to);
  }
  return t;
}

/// Every number and example, bits in hexadecimal.
table csv_table(const std::vector<disagreement>& all, format to) {
  table t{{"input", "data", "first", "second", "scales", "scales_differ",
           "codes", "codes_differ", "scale_amax", "scale_special",
           "scale_first", "scale_second", "code_amax", "code_special", "code_x",
           "code_first", "code_second"},
          {}};
  for (const auto& d : all) {
    for (const auto& p : d.pairs) {
      std::vector<std::string> row{
          name_of(d.from),
          d.data == fuzz::group_data::normal ? "normal" : "boundary",
          name_of_convention(p.first),
          name_of_convention(p.second),
          std::to_string(d.scales),
          std::to_string(p.scales_differ),
          std::to_string(d.codes),
          std::to_string(p.codes_differ)};
      const auto hex = [&row](std::uint64_t word, int bits) {
        row.push_back(to_hex(word, bits));
      };
      if (p.scale) {
        hex(p.scale->amax, 32);
        hex(p.scale->special, 32);
        hex(p.scale->first, 32);
        hex(p.scale->second, 32);
      } else {
        row.resize(row.size() + 4);
      }
      if (p.code) {
        hex(p.code->amax, 32);
        hex(p.code->special, 32);
        hex(p.code->x, 32);
        hex(p.code->first, to.bits());
        hex(p.code->second, to.bits());
      }
      t.rows.push_back(std::move(row));
    }
  }
  return t;
}

/// The same as an array of objects, by the columns of the CSV.
json to_json(const table& t) {
  json all = json::array();
  for (const auto& row : t.rows) {
    json item = json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto& name = t.columns[i];
      const bool count = i >= 4 && i < 8;
      if (count) {
        item[name] = std::stoull(row[i]);
      } else if (!row[i].empty()) {
        item[name] = row[i];
      }
    }
    all.push_back(item);
  }
  return all;
}

std::string page_of(const std::vector<disagreement>& all,
                    const fuzz::disagreement_request& q,
                    const conventions_request& asked) {
  html_page page("Where quantizer conventions disagree");
  page.add_paragraph(fmt::format(
      "Codes {}, groups {}, scales {}, {} groups for each kind of data, seed "
      "{}. Normal data is bell-shaped; boundary data has amaxes where the "
      "rules "
      "for scales part, and elements beside midpoints of codes, so that its "
      "shares say which conventions differ, not how often they do in training.",
      name_of(q.to), asked.group,
      asked.scale.empty() ? "of each convention's own kind" : asked.scale,
      q.cases, q.seed));
  for (const auto& d : all) {
    page.add_heading(name_of_data(d));
    page.add_matrix(matrix_table(d),
                    "Percent that differ: codes above the diagonal, scales "
                    "below.");
    page.add_table(example_table(d, q.to),
                   "An example of each: bits in hexadecimal, and the value. A "
                   "NaN or Inf in the group stands beside its finite amax.");
  }
  return page.str();
}

void run_conventions(const conventions_request& asked) {
  fuzz::disagreement_request q;
  q.cases = asked.cases;
  q.seed = asked.seed;
  q.to = parse_format(asked.format);
  check_target(q.to, "--format");
  q.group = parse_group(asked.group);
  if (!asked.scale.empty()) q.scale = parse_scale_kind(asked.scale);
  constexpr int longest = 1 << 20;
  constexpr std::int64_t whole = 64;  // of a dimension without groups
  if (q.group.height(whole) * q.group.width(whole) > longest) {
    throw input_error(fmt::format("--group {}: use at most {} elements",
                                  asked.group, longest));
  }
  std::optional<output_set> files;
  if (!asked.out.empty()) {
    files.emplace(asked.out);
    files->expect({"conventions.csv", "conventions.html"});
  }
  const auto show = make_progress();
  const auto all = fuzz::find_disagreements(
      q, [&show](double done, double total) { show(done, total, "groups"); });
  const auto csv = csv_table(all, q.to);
  if (files) {
    files->add("conventions.csv", to_csv(csv));
    files->add("conventions.html", page_of(all, q, asked));
    files->commit();
  }
  if (asked.as_json) {
    return print_json(json{{"format", name_of(q.to)},
                           {"group", name_of(q.group)},
                           {"scale", asked.scale.empty() ? "own" : asked.scale},
                           {"cases", q.cases},
                           {"seed", q.seed},
                           {"pairs", to_json(csv)}});
  }
  print(pair_table(all));
  for (const auto& d : all) {
    print(fmt::format("\n{}: an example of each\n", name_of_data(d)));
    print(example_table(d, q.to));
  }
}

}  // namespace

void add_fuzz_conventions(cli::app& fuzz, outcome&) {
  auto* sub =
      add_command(fuzz, "conventions",
                  "How often two quantizer conventions disagree, and where",
                  "zeroulp fuzz conventions --scale fp32 --out disagreement");
  auto q = std::make_shared<conventions_request>();
  sub->add_option("--cases", q->cases, "groups for each kind of data")
      ->capture_default_str()
      ->check(cli::range(std::uint64_t{1}, std::uint64_t{1} << 40));
  add_seed(sub, q->seed);
  sub->add_option("--format", q->format, "of the codes")->capture_default_str();
  sub->add_option("--group", q->group,
                  "RxC, or tensor; 0 and tensor: 64 elements")
      ->capture_default_str();
  sub->add_option("--scale", q->scale,
                  "fp32, pow2, pow2_down or pow2_nearest; each convention's "
                  "own if absent");
  sub->add_option("--out", q->out,
                  "directory for conventions.csv, conventions.html");
  sub->add_flag("--json", q->as_json);
  sub->callback([q] { run_conventions(*q); });
}

}  // namespace zeroulp::program

#endif
