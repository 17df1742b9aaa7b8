#include "tools/checkpoint/files/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <unordered_map>

#include "tools/checkpoint/files/arrays.hpp"
#include "tools/checkpoint/files/json.hpp"

namespace zeroulp::checkpoint {
namespace {

namespace fs = std::filesystem;

void add_tensors(checkpoint& c, shard&& s, std::vector<entry>&& entries) {
  for (auto& e : entries) {
    tensor t;
    static_cast<entry&>(t) = std::move(e);
    t.file = c.shards.size();
    c.tensors.push_back(std::move(t));
  }
  c.shards.push_back(std::move(s));
}

void add_shard(checkpoint& c, const fs::path& path) {
  const std::uint64_t size = size_of_file(path);
  const std::string file = path.string();
  const window first(path, size, 0, std::min<std::uint64_t>(size, 8));
  const auto length = header_length(first.text(), size, file);
  const window text(path, size, 8, length);
  file_header h = parse_header(text.text(), size, file);
  add_tensors(
      c,
      {path, path.filename().string(), size, std::move(h.metadata), 8 + length},
      std::move(h.entries));
}

void add_arrays(checkpoint& c, const fs::path& path) {
  const std::uint64_t size = size_of_file(path);
  add_tensors(c, {path, path.filename().string(), size, {}, 0},
              entries_of_arrays(path, size));
}

/// Sorts the names; two tensors of one name are refused.
void sort_names(checkpoint& c) {
  c.by_name.resize(c.tensors.size());
  for (std::size_t i = 0; i < c.by_name.size(); ++i) c.by_name[i] = i;
  std::stable_sort(c.by_name.begin(), c.by_name.end(),
                   [&](std::size_t a, std::size_t b) {
                     return c.tensors[a].name < c.tensors[b].name;
                   });
  for (std::size_t i = 1; i < c.by_name.size(); ++i) {
    const auto& a = c.tensors[c.by_name[i - 1]];
    const auto& b = c.tensors[c.by_name[i]];
    if (a.name != b.name) continue;
    refuse({"index", c.file_of(b), b.name, "it in one file",
            "it in " + c.shard_of(a).name + ", too"});
  }
}

/// Which file the index says has which tensor.
using weight_map = std::unordered_map<std::string, std::string>;

weight_map read_index(checkpoint& c) {
  const std::string file = c.index.string();
  const auto index = read_strict_json<map_json>(c.index);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object()) {
    refuse({"index", file, "", "an object weight_map", "none"});
  }
  weight_map found;
  for (const auto& [name, value] : map->items()) {
    const bool plain = value.is_string() &&
                       fs::path(value.get<std::string>()).filename() ==
                           fs::path(value.get<std::string>()) &&
                       value.get<std::string>().ends_with(".safetensors");
    if (!plain) {
      refuse({"index", file, name, "the name of a .safetensors file beside it",
              value.dump()});
    }
    found[name] = value.get<std::string>();
  }
  if (found.empty()) {
    refuse({"index", file, "", "tensors in weight_map", "none"});
  }
  return found;
}

void check_index(const checkpoint& c, const weight_map& map) {
  for (const auto& t : c.tensors) {
    const auto at = map.find(t.name);
    if (at == map.end()) {
      refuse({"index", c.index.string(), t.name,
              "it in weight_map, as " + c.shard_of(t).name + " has it",
              "no such name"});
    }
    if (at->second != c.shard_of(t).name) {
      refuse({"index", c.index.string(), t.name,
              "file " + c.shard_of(t).name + ", which has it", at->second});
    }
  }
  if (map.size() == c.tensors.size()) return;
  std::vector<std::string> names;
  for (const auto& [name, file] : map) {
    if (c.find(name) == nullptr) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  refuse({"index", (c.folder / map.at(names.front())).string(), names.front(),
          "it, as " + c.index.filename().string() + " says", "no such tensor"});
}

void note_total_size(checkpoint& c) {
  const auto index = read_strict_json<map_json>(c.index);
  const auto meta = index.find("metadata");
  if (meta == index.end() || !meta->is_object()) return;
  const auto total = meta->find("total_size");
  if (total == meta->end() || !total->is_number()) return;
  std::uint64_t bytes = 0;
  for (const auto& t : c.tensors) bytes += t.bytes;
  if (total->get<double>() == static_cast<double>(bytes)) return;
  c.notes.push_back(
      fmt::format("{}: total_size is {}, its tensors have {} "
                  "bytes",
                  c.index.string(), total->dump(), bytes));
}

std::vector<fs::path> files_with(const fs::path& folder,
                                 std::string_view ending) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    if (file.path().filename().string().ends_with(ending)) {
      found.push_back(file.path());
    }
  }
  if (error) {
    throw input_error(
        fmt::format("{}: cannot read: {}; name a folder that can "
                    "be read",
                    folder.string(), error.message()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

void open_index(checkpoint& c) {
  const weight_map map = read_index(c);
  std::vector<std::string> names;
  for (const auto& [tensor, file] : map) names.push_back(file);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const auto& name : names) {
    std::error_code ignored;
    if (!fs::exists(c.folder / name, ignored)) {
      refuse({"index", c.index.string(), "", "file " + name + " beside it",
              "no such file"});
    }
    add_shard(c, c.folder / name);
  }
  sort_names(c);
  check_index(c, map);
  note_total_size(c);
}

/// Where files are called NAME-00001-of-00005, all five have to be there.
void check_shard_names(const checkpoint& c) {
  static const std::regex numbered("(.*)-([0-9]+)-of-([0-9]+)\\.safetensors");
  std::map<std::string, std::set<std::string>> found;
  for (const shard& s : c.shards) {
    std::smatch parts;
    if (!std::regex_match(s.name, parts, numbered)) continue;
    found[parts[1].str() + "-*-of-" + parts[3].str()].insert(parts[2]);
  }
  for (const auto& [name, numbers] : found) {
    std::string wanted = name.substr(name.rfind('-') + 1);
    wanted.erase(0, std::min(wanted.find_first_not_of('0'), wanted.size()));
    const std::string count = fmt::to_string(numbers.size());
    if (count == wanted) continue;
    refuse({"files", c.folder.string(), "",
            wanted + " files " + name + ".safetensors, or an index", count});
  }
}

void open_folder(checkpoint& c) {
  const auto indices = files_with(c.folder, ".safetensors.index.json");
  if (indices.size() == 1) {
    c.index = indices.front();
    return open_index(c);
  }
  if (indices.size() > 1) {
    refuse({"index", c.folder.string(), "", "one .safetensors.index.json",
            fmt::to_string(indices.size())});
  }
  for (const auto& file : files_with(c.folder, ".safetensors")) {
    add_shard(c, file);
  }
  check_shard_names(c);
  if (c.shards.empty()) {
    for (const auto& file : files_with(c.folder, ".npy")) add_arrays(c, file);
  }
  if (c.shards.empty()) {
    refuse(
        {"files", c.folder.string(), "", ".safetensors or .npy files", "none"});
  }
  sort_names(c);
}

}  // namespace

const tensor* checkpoint::find(std::string_view name) const {
  const auto at = std::lower_bound(
      by_name.begin(), by_name.end(), name,
      [&](std::size_t i, std::string_view n) { return tensors[i].name < n; });
  if (at == by_name.end() || tensors[*at].name != name) return nullptr;
  return &tensors[*at];
}

window checkpoint::map(const tensor& t, std::uint64_t from, std::uint64_t bytes,
                       bool whole) const {
  const auto& s = shard_of(t);
  return {s.path, s.size, t.offset + from, bytes, whole};
}

checkpoint open_checkpoint(const fs::path& path) {
  checkpoint c;
  c.path = path;
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  c.folder = is_folder ? path : path.parent_path();
  if (c.folder.empty()) c.folder = ".";
  const std::string name = path.filename().string();
  if (is_folder) {
    open_folder(c);
  } else if (name.ends_with(".safetensors.index.json")) {
    c.index = path;
    open_index(c);
  } else {
    name.ends_with(".npy") || name.ends_with(".npz") ? add_arrays(c, path)
                                                     : add_shard(c, path);
    sort_names(c);
  }
  c.config = read_model_config(c.folder);
  return c;
}

}  // namespace zeroulp::checkpoint
