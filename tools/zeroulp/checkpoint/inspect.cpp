// checkpoint list, verify, hash: what only reads.

#include <fmt/format.h>

#include "tools/checkpoint/weights/hash.hpp"
#include "tools/checkpoint/weights/verify.hpp"
#include "tools/zeroulp/checkpoint/checkpoint.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/terminal.hpp"

namespace zeroulp::program {
namespace {

using checkpoint::quantized;
using checkpoint::tensor;

std::string role_of(const opened& o, const tensor& t) {
  const auto place = static_cast<std::size_t>(&t - o.files.tensors.data());
  if (o.pairs.scale_of[place] >= 0) return "scale";
  const auto* q = weight_of(o, t);
  if (q == nullptr) return "";
  return q->family == nullptr ? "unscaled" : q->family->name;
}

json tensor_json(const opened& o, const tensor& t) {
  json j{{"name", t.name},
         {"type", checkpoint::name_of(t.type)},
         {"shape", shape_json(t.shape)},
         {"file", o.files.shard_of(t).name},
         {"path", std::filesystem::absolute(o.files.shard_of(t).path).string()},
         {"offset", t.offset},
         {"bytes", t.bytes}};
  const auto role = role_of(o, t);
  if (!role.empty()) j["role"] = role;
  if (const auto* q = weight_of(o, t)) {
    j["numbers"] = shape_json(q->shape);
    j["format"] = name_of(q->code);
    j["group"] = name_of(q->group);
    if (q->scale != nullptr) {
      j["scale"] = {{"name", q->scale->name},
                    {"type", checkpoint::name_of(q->scale->type)},
                    {"shape", shape_json(q->scale->shape)}};
    }
    if (q->second != nullptr) {
      j["second_scale"] = q->second->name;
      j["second_use"] = q->family->use == checkpoint::second_use::divide
                            ? "divide"
                            : "multiply";
    }
  }
  return j;
}

std::string list_text(const opened& o, const std::vector<const tensor*>& all) {
  table t{{"tensor", "type", "shape", "group", "scale", "family"}, {}};
  double bytes = 0;
  for (const auto* x : all) {
    bytes += static_cast<double>(x->bytes);
    std::vector<std::string> row = {one_line(x->name),
                                    checkpoint::name_of(x->type),
                                    checkpoint::text_of(x->shape),
                                    "",
                                    "",
                                    role_of(o, *x)};
    if (const auto* q = weight_of(o, *x)) {
      row[3] = name_of(q->group);
      if (q->scale != nullptr) {
        row[4] = fmt::format(
            "{} {} {}",
            one_line(q->scale->name.substr(q->scale->name.rfind('.') + 1)),
            checkpoint::name_of(q->scale->type),
            checkpoint::text_of(q->scale->shape));
      }
    }
    t.rows.push_back(std::move(row));
  }
  return zeroulp::to_text(t, terminal_width()) +
         fmt::format("{} tensors in {} files, {}; {} quantized weights\n",
                     all.size(), o.files.shards.size(), bytes_text(bytes),
                     o.pairs.weights.size());
}

void run_list(const checkpoint_request& q) {
  const auto o = open_for(q.path, q.allow_unscaled, false);
  std::vector<const tensor*> all;
  for (const auto at : o->files.by_name) all.push_back(&o->files.tensors[at]);
  std::string text;
  if (q.as_json) {
    json list = json::array();
    for (const auto* t : all) list.push_back(tensor_json(*o, *t));
    print_json({{"tensors", list},
                {"files", o->files.shards.size()},
                {"weights", o->pairs.weights.size()},
                {"faults", o->pairs.faults.size()}});
    return;
  }
  print(list_text(*o, all));
  if (o->pairs.faults.empty()) return;
  print(fmt::format("{} faults, the first: {}\n", o->pairs.faults.size(),
                    one_line(o->pairs.faults.front().text())));
}

json verify_json(const opened& o, const checkpoint::verification& v) {
  json faults = json::array();
  for (const auto& f : v.faults) {
    faults.push_back({{"check", f.check},
                      {"file", f.file},
                      {"tensor", f.tensor},
                      {"expected", f.expected},
                      {"found", f.found}});
  }
  json weights = json::array();
  for (const auto& w : v.weights) {
    json j{{"name", w.of->name}, {"mean", json_number(w.mean)}};
    if (w.q != nullptr) {
      j["groups"] = w.groups;
      j["full_groups"] = w.full_groups;
    }
    weights.push_back(j);
  }
  return {{"held", v.faults.empty()},
          {"tensors", v.tensors},
          {"weights", o.pairs.weights.size()},
          {"faults", faults},
          {"notes", o.files.notes},
          {"sizes", weights},
          {"fingerprint", checkpoint::fingerprint(v)}};
}

void run_verify(const checkpoint_request& q, outcome& out) {
  const auto o = open_for(q.path, q.allow_unscaled, false);
  const auto v = checkpoint::verify(o->files, o->pairs, work_options_of(q));
  out.status = v.faults.empty() ? 0 : 1;
  if (q.as_json) return print_json(verify_json(*o, v));
  std::string text;
  for (const auto& f : v.faults) {
    text += one_line(f.text()) + "\n";
  }
  for (const auto& n : o->files.notes) {
    text += fmt::format("note: {}\n", one_line(n));
  }
  const auto said = checkpoint::fingerprint(v);
  if (!said.empty()) text += said + "\n";
  text += fmt::format("{}: {} tensors, {} quantized weights, {} faults\n",
                      v.faults.empty() ? "held" : "WRONG", v.tensors,
                      o->pairs.weights.size(), v.faults.size());
  print(text);
}

void run_hash(const checkpoint_request& q) {
  const auto o = open_for(q.path, q.allow_unscaled, true);
  const auto hashes =
      checkpoint::hash_tensors(o->files, o->pairs, work_options_of(q));
  const auto bytes = total_of(o->files, o->pairs, hashes, false);
  const auto values = total_of(o->files, o->pairs, hashes, true);
  if (q.as_json) {
    json list = json::array();
    for (const auto& h : hashes) {
      json j{{"name", h.of->name}, {"bytes", h.bytes}};
      if (!h.values.empty()) {
        j["values"] = h.values;
        j["values_of"] = value_name(*h.of, weight_of(*o, *h.of));
      }
      list.push_back(j);
    }
    return print_json(
        {{"tensors", list}, {"bytes", bytes}, {"values", values}});
  }
  table t{{"tensor", "bytes", "values"}, {}};
  for (const auto& h : hashes) {
    t.rows.push_back(
        {one_line(h.of->name), h.bytes, h.values.empty() ? "-" : h.values});
  }
  t.rows.push_back({"all", bytes, values});
  print(t);
}

}  // namespace

void add_checkpoint_list(cli::app& sub, outcome&) {
  auto* c = add_command(sub, "list",
                        "List the tensors: type, shape, groups, scale, family",
                        "zeroulp checkpoint list DeepSeek-V3");
  auto q = std::make_shared<checkpoint_request>();
  add_common(c, *q);
  c->callback([q] { run_list(*q); });
}

void add_checkpoint_verify(cli::app& sub, outcome& out) {
  auto* c = add_command(
      sub, "verify",
      "Check that weights and scales fit each other and are sound (exit "
      "status 1: they do not)",
      "zeroulp checkpoint verify DeepSeek-V3");
  auto q = std::make_shared<checkpoint_request>();
  add_common(c, *q);
  c->callback([q, &out] { run_verify(*q, out); });
}

void add_checkpoint_hash(cli::app& sub, outcome&) {
  auto* c = add_command(
      sub, "hash",
      "SHA-256 of each tensor's bytes and of its numbers, which do not depend "
      "on shards and formats",
      "zeroulp checkpoint hash DeepSeek-V3 --json");
  auto q = std::make_shared<checkpoint_request>();
  add_common(c, *q);
  c->callback([q] { run_hash(*q); });
}

}  // namespace zeroulp::program
