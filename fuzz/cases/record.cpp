// Records steps: makes inputs for each path, gets D, writes vector files.

#include "fuzz/cases/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <stdexcept>

#include "fuzz/cases/token.hpp"
#include "fuzz/engine/distinguishing_inputs.hpp"
#include "src/base/sha256.hpp"
#include "src/base/threads.hpp"
#include "src/io/gzip.hpp"
#include "zeroulp/spec_version.hpp"

namespace zeroulp::fuzz {
namespace {

/// The inputs for a path; they are made without a GPU.
struct inputs {
  std::vector<step_case> cases;
  std::vector<parameter> parameters;
  separation separators;
};

inputs inputs_for(const path& p, const recording_request& q) {
  inputs made;
  const auto profiles = info_of(target::step).profiles.size();
  for (std::size_t i = 0; i < profiles * q.cases_a_profile; ++i) {
    made.cases.push_back(
        full_step(p, static_cast<int>(i % profiles), q.seed, i / profiles));
  }
  made.parameters = parameters_of(p);
  made.separators = separate(p, made.parameters, q.cases_a_parameter, q.seed);
  return made;
}

std::string parameter_comment(const parameter& q, std::size_t refuting) {
  std::string others;
  for (const auto& other : q.others) {
    others += (others.empty() ? "" : ", ") + other.name;
  }
  return fmt::format("{} or more records refute other values of {}: {}",
                     refuting, q.name, others);
}

class recorder {
 public:
  recorder(const recording_request& q, const step_source& d_of,
           const named_path& of)
      : q_(q), d_of_(d_of), of_(of) {
    made_.path = of.name;
    made_.file = of.name + ".txt.gz";
  }

  recording record(inputs in) {
    auto comments = comments_on(of_.value, in.cases);
    add("profiles", std::move(in.cases), std::move(comments));
    comments.clear();
    for (std::size_t i = 0; i < in.parameters.size(); ++i) {
      const auto refuting = in.separators.refuting[i];
      comments.push_back(parameter_comment(in.parameters[i], refuting));
      if (i > 0 && refuting >= made_.fewest) continue;
      made_.fewest = refuting;
      made_.fewest_of = in.parameters[i].name;
    }
    add("separators", std::move(in.separators.cases), std::move(comments));
    made_.content = gzip(text_);
    return std::move(made_);
  }

 private:
  /// Adds a section: the cases and their D.
  void add(const char* what, std::vector<step_case> cases,
           std::vector<std::string> comments) {
    vector_section s{of_, q_.from, std::move(comments), std::move(cases), {}};
    s.fields.emplace_back("cases", what);
    s.fields.emplace_back("spec", fmt::format("{}", spec_version));
    s.fields.emplace_back("generator", fmt::format("{}", generator_version));
    s.fields.emplace_back("seed", fmt::format("{}", q_.seed));
    s.d = d_of_(of_, s.cases);
    if (s.d.size() != s.cases.size()) {
      throw std::logic_error("as many results as cases");
    }
    for (std::size_t i = 0; i < s.cases.size(); ++i) compare(s, i);
    made_.records += s.cases.size();
    text_ += to_text(s);
  }

  void compare(const vector_section& s, std::size_t i) {
    const std::uint64_t right = core_step(of_.value, s.cases[i]);
    if (s.d[i] == right) return;
    if (made_.mismatches++ > 0) return;
    made_.first_mismatch =
        fmt::format("{}: recorded {:x}, the core has {:x}: {}", of_.name,
                    s.d[i], right, to_token(problem_of(of_.value, s.cases[i])));
  }

  const recording_request& q_;
  const step_source& d_of_;
  const named_path& of_;
  recording made_;
  std::string text_;
};

}  // namespace

std::vector<recording> record_steps(const recording_request& q,
                                    const step_source& d_of) {
  // The search for inputs takes seconds for each path, and needs no GPU.
  std::vector<std::future<inputs>> searches;
  for (const auto& of : q.paths) {
    searches.push_back(beside([&q, &of] { return inputs_for(of.value, q); }));
  }
  std::vector<recording> files;
  for (std::size_t i = 0; i < q.paths.size(); ++i) {
    files.push_back(recorder(q, d_of, q.paths[i]).record(searches[i].get()));
  }
  return files;
}

std::string manifest_of(const std::vector<recording>& files) {
  std::string text;
  for (const auto& f : files) {
    text += fmt::format("{}  {}\n", sha256_hex(f.content), f.file);
  }
  return text;
}

}  // namespace zeroulp::fuzz
