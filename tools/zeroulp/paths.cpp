// paths, block-scaled-paths: the tensor-core paths, what their columns mean,
// how each is known, and which of them a GPU, an instruction or a type has.

#include <fmt/format.h>

#include <algorithm>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/catalog.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/tensor/block_tensor.hpp"
#include "zeroulp/block_scaled.hpp"

namespace zeroulp::program {
namespace {

json accumulator_fields(const accumulator& a) {
  return {
      {"L", a.length},
      {"F", a.fraction_bits == uncut ? json("exact") : json(a.fraction_bits)},
      {"floor",
       a.exponent_floor == no_floor ? json("none") : json(a.exponent_floor)},
      {"output", name_of(a.output)},
      {"conversion", name_of(a.conversion)},
      {"stored", name_of(a.stored)},
      {"cut", name_of(a.cut)},
      {"c", a.c == addend::aligned ? "aligned" : "last"},
      {"renormalized", a.renormalized}};
}

json evidence_fields(const std::vector<evidence>& known_by) {
  json all = json::array();
  for (const auto& e : known_by) {
    all.push_back({{"kind", name_of(e.kind)},
                   {"cases", e.cases},
                   {"of", e.of},
                   {"text", text_of(e)}});
  }
  return all;
}

entry show(const named_path& row) {
  constexpr const char* lowerings[] = {"direct", "hmma_chained", "hmma_zero"};
  json fields = accumulator_fields(row.value.acc);
  fields["lowering"] = lowerings[static_cast<int>(row.value.lowering)];
  fields["evidence"] = evidence_fields(row.known_by);
  return {row.name, fields};
}

entry show(const named_block_scaled_path& row) {
  const block_scaled_path& p = row.value;
  json fields{
      {"scale", name_of(p.scale)},
      {"block", p.block},
      {"terms", p.terms == block_terms::products ? "products" : "sums of 16"}};
  const json unscaled = accumulator_fields(p.unscaled.acc);
  for (const char* name : {"L", "F", "floor", "output", "conversion"}) {
    fields[name] = unscaled[name];
  }
  fields["evidence"] = evidence_fields(row.known_by);
  return {row.name, fields};
}

/// What the columns of `zeroulp paths` mean.
constexpr std::string_view path_legend =
    R"(
name        GPU.instruction.A.B.D; D is f32 or f16
L           products that a step takes; 0: all of K
place       of a product ea + eb, of c its exponent: what terms are aligned by
F           fraction bits that each term keeps below the largest place
floor       the largest place is at least this
output      the sum is converted to it by `conversion`, then stored in `stored`
cut         how a term loses what lies below F
c           aligned: one more term; last: added to the converted sum
lowering    direct: the instruction is one step; else two, of L products each
evidence    measured: outputs of this GPU, in conformance/records
            public_vectors: steps that others recorded and published
            two_models: directed steps on which a model of others agrees
            published: what others report; refuted: GPUs do something else
            definition: no GPU has it; a clause of the SPEC
            inferred: nobody looked; other rows of this GPU suggest it
)";

/// Which paths are listed; an empty text or list takes all.
struct path_filter {
  std::string gpu;
  std::string instruction;
  std::vector<std::string> types;
};

/// The words of a name between its dots.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::size_t from = 0;
  for (std::size_t dot; (dot = name.find('.', from)) != std::string::npos;
       from = dot + 1) {
    words.push_back(name.substr(from, dot - from));
  }
  words.push_back(name.substr(from));
  return words;
}

/// A name by its parts. A path that no GPU has may lack the instruction.
struct path_words {
  std::string gpu;
  std::string instruction;
  std::vector<std::string> types;  ///< A, B, D

  explicit path_words(const std::string& name) {
    const auto words = words_of(name);
    gpu = words.front();
    if (words.size() > 4) instruction = words[1];
    types.assign(words.end() - 3, words.end());
  }
};

/// Throws input_error if no path has `value` for what `parts` gives of it.
template <class Parts>
void check_filter(std::string_view option, const std::string& value,
                  Parts parts) {
  std::vector<std::string> listed;
  for (const auto& row : all_paths()) {
    for (const std::string& part : parts(path_words(row.name))) {
      const bool is_new =
          std::find(listed.begin(), listed.end(), part) == listed.end();
      if (is_new && !part.empty()) listed.push_back(part);
    }
  }
  if (std::find(listed.begin(), listed.end(), value) != listed.end()) return;
  const std::vector<std::string_view> names(listed.begin(), listed.end());
  throw input_error(fmt::format("{}: no path has '{}': {}", option, value,
                                use_one_of(value, names)));
}

void check_filter(const path_filter& f) {
  using list = std::vector<std::string>;
  if (!f.gpu.empty()) {
    check_filter("--gpu", f.gpu,
                 [](const path_words& p) { return list{p.gpu}; });
  }
  if (!f.instruction.empty()) {
    check_filter("--instruction", f.instruction,
                 [](const path_words& p) { return list{p.instruction}; });
  }
  for (const auto& type : f.types) {
    check_filter("--type", type, [](const path_words& p) { return p.types; });
  }
}

bool is_taken(const path_filter& f, const std::string& name) {
  const path_words p(name);
  const auto has = [&p](const std::string& type) {
    return std::find(p.types.begin(), p.types.end(), type) != p.types.end();
  };
  return (f.gpu.empty() || f.gpu == p.gpu) &&
         (f.instruction.empty() || f.instruction == p.instruction) &&
         std::all_of(f.types.begin(), f.types.end(), has);
}

std::vector<entry> chosen_paths(const path_filter& f) {
  check_filter(f);
  std::vector<entry> all;
  for (const auto& row : all_paths()) {
    if (is_taken(f, row.name)) all.push_back(show(row));
  }
  if (all.empty()) throw input_error("no path has all of these");
  return all;
}

}  // namespace

void add_paths(cli::app& app) {
  const auto f = std::make_shared<path_filter>();
  auto* sub = add_catalog_command(
      app, "paths", "List the tensor-core paths and what-ifs",
      "zeroulp paths --gpu ada --type e4m3",
      {[f] { return chosen_paths(*f); },
       [f](const std::string& name) {
         const bool lists_all =
             f->gpu.empty() && f->instruction.empty() && f->types.empty();
         if (!lists_all) {
           throw input_error(
               "--gpu, --instruction and --type choose among "
               "all paths: leave out NAME");
         }
         return show(parse_path(name));
       },
       path_legend});
  sub->add_option("--gpu", f->gpu, "only those of this family, such as hopper");
  sub->add_option("--instruction", f->instruction,
                  "only those of wgmma, mma, tcgen05");
  sub->add_option("--type", f->types,
                  "only those with this A, B or D, such as bf16 or f16; may be "
                  "given again")
      ->expected(1)
      ->take_all();
  add_catalog_command(
      app, "block-scaled-paths",
      "List the tensor-core paths with block scales (MXFP8, NVFP4)",
      "zeroulp block-scaled-paths blackwell.tcgen05.mxf4nvf4.e2m1.e2m1.f32",
      catalog_of(all_block_scaled_paths(), parse_block_scaled_path,
                 [](const auto& row) { return show(row); }));
}

}  // namespace zeroulp::program
