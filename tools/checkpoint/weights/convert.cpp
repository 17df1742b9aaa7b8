#include "tools/checkpoint/weights/convert.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <unordered_map>

#include "src/base/sha256.hpp"
#include "src/io/temporary_file.hpp"
#include "zeroulp/spec_version.hpp"

namespace zeroulp::checkpoint {
namespace {

constexpr const char* journal_name = "zeroulp-checkpoint.journal";

struct shard_plan {
  std::string name;
  std::vector<entry> entries;
  std::vector<std::pair<const tensor*, places>> sources;
  double bytes = 0;
};

std::string output_name(const shard& s) {
  const fs::path name = s.name;
  return name.extension() == ".safetensors"
             ? s.name
             : name.stem().string() + ".safetensors";
}

/// What each shard will have.
std::vector<shard_plan> plan(const checkpoint& c, const conversion& how) {
  std::vector<shard_plan> all(c.shards.size());
  std::unordered_map<std::string, const tensor*> known;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = output_name(c.shards[i]);
  }
  struct output {
    entry e;
    const tensor* from;
    std::size_t number;
  };
  std::vector<std::vector<output>> outputs(all.size());
  for (const auto& t : c.tensors) {
    all[t.file].bytes += static_cast<double>(t.bytes);
    std::size_t number = 0;
    for (auto& e : how.outputs(t)) {
      const auto [at, is_new] = known.try_emplace(e.name, &t);
      if (!is_new) {
        refuse({"names", c.file_of(t), t.name,
                "a name of its own for each output",
                e.name + " of " + at->second->name + ", too"});
      }
      outputs[t.file].push_back({std::move(e), &t, number++});
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::unordered_map<std::string, std::size_t> place;
    for (const auto& o : outputs[i]) all[i].entries.push_back(o.e);
    sort_for_writing(all[i].entries);
    for (std::size_t k = 0; k < all[i].entries.size(); ++k) {
      place[all[i].entries[k].name] = k;
    }
    for (const auto& o : outputs[i]) {
      if (o.number == 0) all[i].sources.push_back({o.from, {}});
      all[i].sources.back().second.push_back(place.at(o.e.name));
    }
  }
  return all;
}

/// The request and the identity of its input, which decide every byte.
std::string journal_of(const checkpoint& c, const conversion& how) {
  json inputs = json::array();
  for (const auto& s : c.shards) {
    struct stat info = {};
    (void)::stat(s.path.c_str(), &info);
    sha256 h;
    if (s.header_bytes != 0) {
      h.add(window(s.path, s.size, 0, s.header_bytes).text());
    }
    inputs.push_back({{"file", s.name},
                      {"bytes", s.size},
                      {"header", h.hex()},
                      {"modified", fmt::format("{}.{:09}", info.st_mtim.tv_sec,
                                               info.st_mtim.tv_nsec)}});
  }
  return json{{"zeroulp", spec_version},
              {"request", how.request},
              {"inputs", inputs}}
             .dump(1) +
         "\n";
}

/// The output folder: new, empty, or begun by the same request. What it made it
/// removes, unless it is kept. The journal is there until all is: a finished
/// folder has the checkpoint alone.
class output_folder {
 public:
  output_folder(const fs::path& folder, const std::string& journal)
      : folder_(folder), file_(folder / journal_name) {
    std::error_code error;
    if (fs::exists(file_, error)) {
      if (as_text(read_file(file_)) == journal) {
        lock();
        return;
      }
      refuse({"output", folder.string(), "",
              "a new folder, or one that the same request of the same input "
              "began",
              "what another one began"});
    }
    remove_stale_temporaries(folder);  // of a run that was killed early
    if (fs::exists(folder, error) &&
        (!fs::is_directory(folder, error) || !fs::is_empty(folder, error))) {
      refuse({"output", folder.string(), "", "a new or an empty folder",
              fs::is_directory(folder, error) ? "files in it" : "a file"});
    }
    made_folder_ = fs::create_directories(folder, error);
    if (error) {
      zeroulp::refuse(folder, "cannot make the folder", error.value(),
                      "name a folder that can be written");
    }
    fresh_ = true;
    output_set files;
    files.add(file_, journal);
    files.commit();
    lock();
  }
  ~output_folder() {
    if (!fresh_) return;
    std::error_code ignored;
    fs::remove(file_, ignored);
    if (made_folder_) fs::remove(folder_, ignored);
  }
  /// A shard is there: the next run goes on from it.
  void keep() { fresh_ = false; }
  /// All is there.
  void finish() {
    fresh_ = false;
    std::error_code error;
    fs::remove(file_, error);
    if (error) {
      zeroulp::refuse(file_, "cannot remove", error.value(),
                      "remove it: the checkpoint is complete");
    }
  }

 private:
  /// One run at a time writes here: the lock ends with its process.
  void lock() {
    lock_ = descriptor(file_, O_RDONLY);
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
      return;
    }
    fresh_ = false;
    refuse({"output", folder_.string(), "", "no other run that writes there",
            "one"});
  }

  fs::path folder_;
  fs::path file_;
  descriptor lock_{-1};
  bool fresh_ = false;
  bool made_folder_ = false;
};

void write_shard(const checkpoint& c, const conversion& how,
                 const shard_plan& p, std::size_t number, const fs::path& path,
                 const work_options& options, work_state& state) {
  shard_writer out(path, p.entries, c.shards[number].metadata);
  // A tensor after the other: the list of jobs stays short.
  for (const auto& [t, to] : p.sources) {
    std::vector<job> jobs;
    how.add_jobs(*t, to, out, jobs);
    run_jobs(jobs, options, state);
  }
  out.finish();
}

/// Throws unless a shard of an earlier run has the size that it is to have.
void check_kept(const shard_plan& p,
                const std::map<std::string, std::string>& metadata,
                const fs::path& path) {
  auto entries = p.entries;
  std::uint64_t size = make_header(entries, metadata).size();
  for (const auto& e : entries) size += e.bytes;
  const auto found = size_of_file(path);
  if (found == size) return;
  refuse({"output", path.string(), "",
          fmt::format("{} bytes of an earlier run: remove it", size),
          fmt::to_string(found)});
}

std::string index_text(const std::vector<shard_plan>& plans) {
  map_json map = map_json::object();
  std::uint64_t total = 0;
  for (const auto& p : plans) {
    for (const auto& e : p.entries) {
      map[e.name] = p.name;
      total += bytes_of(e.type, e.shape).value();
    }
  }
  return map_json{{"metadata", {{"total_size", total}}}, {"weight_map", map}}
             .dump(2) +
         "\n";
}

void write_rest(const checkpoint& c, const conversion& how,
                const std::vector<shard_plan>& plans, const fs::path& folder) {
  output_set files;
  if (!c.index.empty()) {
    files.add(folder / c.index.filename(), index_text(plans));
  }
  std::error_code ignored;
  const bool has_config = fs::exists(c.folder / "config.json", ignored);
  if (has_config || how.needs_config) {
    json config = has_config ? read_strict_json(c.folder / "config.json")
                             : json::object();
    if (how.change_config) how.change_config(config);
    files.add(folder / "config.json", config.dump(2) + "\n");
  }
  files.commit();
}

}  // namespace

void add_copy(const checkpoint& c, const tensor& t, std::size_t place,
              const shard_writer& out, std::vector<job>& jobs) {
  for_each_piece(t.bytes, [&](std::uint64_t from, std::uint64_t bytes) {
    jobs.push_back(
        {static_cast<double>(bytes), [&c, &t, &out, place, from, bytes] {
           const window w = c.map(t, from, bytes);
           out.write(place, from, w.data(), bytes);
         }});
  });
}

void write_tile(const shard_writer& out, std::size_t place, const tile& t,
                std::uint64_t row, std::uint64_t cols, std::uint64_t bytes,
                const std::byte* data) {
  if (t.n == cols) {
    return out.write(place, row * cols * bytes, data, t.count() * bytes);
  }
  for (std::uint64_t i = 0; i < t.m; ++i) {
    out.write(place, ((row + i) * cols + t.j) * bytes, data + i * t.n * bytes,
              t.n * bytes);
  }
}

converted convert(const checkpoint& c, const conversion& how,
                  const fs::path& folder, const work_options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto plans = plan(c, how);
  output_folder out(folder, journal_of(c, how));
  converted r;
  work_state state;
  for (const auto& p : plans) state.total += p.bytes;
  std::error_code ignored;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const fs::path path = folder / plans[i].name;
    if (fs::exists(path, ignored)) {
      check_kept(plans[i], c.shards[i].metadata, path);
      ++r.kept;
      state.total -= plans[i].bytes;
      continue;
    }
    write_shard(c, how, plans[i], i, path, options, state);
    out.keep();
    ++r.written;
    r.bytes += plans[i].bytes;
  }
  end_progress(options, state);
  write_rest(c, how, plans, folder);
  out.finish();
  r.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  return r;
}

}  // namespace zeroulp::checkpoint
