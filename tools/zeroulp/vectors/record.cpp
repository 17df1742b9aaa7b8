// vectors record: steps of every path that an instruction follows, with the
// results of the silicon.

#include <fmt/format.h>

#include <memory>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/vectors/vectors.hpp"
#ifdef ZEROULP_HAVE_DEVICE
#include "conformance/device/device.hpp"
#include "fuzz/cases/record.hpp"
#endif

namespace zeroulp::program {
namespace {

struct record_request {
  bool gpu = false;
  bool as_json = false;
  std::string out;
  /// With these the files of all paths have about 6 MB.
  std::size_t count = 100;
  std::size_t separators = 1000;
  std::uint64_t seed = 1;
};

#ifdef ZEROULP_HAVE_DEVICE

namespace device = conformance::device;

constexpr std::size_t most_bytes = 8'000'000;

constexpr std::string_view mma = "hopper.mma.";

/// Paths that an instruction of their name follows.
std::vector<named_path> recordable_paths() {
  std::vector<named_path> found;
  for (const auto& p : all_paths()) {
    const bool named =
        p.name.starts_with("hopper.wgmma.") || p.name.starts_with(mma);
    if (named && device::has_instruction(p.value)) found.push_back(p);
  }
  return found;
}

void report(const std::vector<fuzz::recording>& files, bool as_json,
            outcome& out) {
  json results = json::array();
  table t{{"path", "records", "bytes", "fewest", "of", "not as the core"}, {}};
  std::string firsts;
  for (const auto& f : files) {
    results.push_back({{"path", f.path},
                       {"file", f.file},
                       {"records", f.records},
                       {"bytes", f.content.size()},
                       {"fewest", f.fewest},
                       {"fewest_of", f.fewest_of},
                       {"mismatches", f.mismatches},
                       {"first", f.first_mismatch}});
    t.rows.push_back({f.path, fmt::format("{}", f.records),
                      fmt::format("{}", f.content.size()),
                      fmt::format("{}", f.fewest), f.fewest_of,
                      fmt::format("{}", f.mismatches)});
    if (f.mismatches == 0) continue;
    out.status = 1;
    firsts += f.first_mismatch + "\n";
  }
  if (as_json) return print_json(results);
  print(t);
  print(firsts);
}

void run_record(const record_request& q, outcome& out) {
  const auto why = device::why_absent();
  if (!why.empty()) throw input_error("vectors record: " + why);
  const auto d = device::describe();
  const fuzz::recording_request request{
      recordable_paths(),
      {{"device", d.name}, {"driver", d.driver}, {"compiler", d.compiler}},
      q.count,
      q.separators,
      q.seed};
  const auto files =
      fuzz::record_steps(request, [](const named_path& of, const auto& cases) {
        return device::run_steps(of.value, cases, of.name.starts_with(mma));
      });
  std::size_t bytes = 0;
  for (const auto& f : files) bytes += f.content.size();
  if (bytes > most_bytes) {
    throw input_error(fmt::format(
        "vectors record: {} bytes, more than {}: use a smaller --count", bytes,
        most_bytes));
  }
  output_set set(q.out);
  for (const auto& f : files) set.add(f.file, f.content);
  set.add("MANIFEST", fuzz::manifest_of(files));
  set.commit();
  report(files, q.as_json, out);
}

#else

void run_record(const record_request&, outcome&) {
  throw input_error(fmt::format("vectors record: {}", no_gpu_part));
}

#endif

}  // namespace

void add_vectors_record(cli::app& vectors, outcome& out) {
  auto* sub = add_command(vectors, "record",
                          "Record what the tensor cores of this GPU do",
                          "zeroulp vectors record --gpu --out vectors");
  auto q = std::make_shared<record_request>();
  sub->add_flag("--gpu", q->gpu, "the only device there is")->required();
  sub->add_option("--out", q->out, "directory for a file a path and MANIFEST")
      ->required();
  sub->add_option("--count", q->count,
                  "records a path and profile of the cases")
      ->check(cli::range(1, 100'000))
      ->capture_default_str();
  sub->add_option("--separators", q->separators,
                  "records that refute the neighbours of each parameter")
      ->check(cli::range(0, 100'000))
      ->capture_default_str();
  add_seed(sub, q->seed);
  sub->add_flag("--json", q->as_json);
  sub->callback([q, &out] { run_record(*q, out); });
}

}  // namespace zeroulp::program
