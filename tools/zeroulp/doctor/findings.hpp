// Defines what `zeroulp doctor` finds, and how facts about the machine are
// judged: each is in order, worth a note, or a problem with what to do.

#ifndef ZEROULP_TOOLS_ZEROULP_DOCTOR_FINDINGS_HPP_
#define ZEROULP_TOOLS_ZEROULP_DOCTOR_FINDINGS_HPP_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/study/report/report.hpp"

namespace zeroulp::program {

enum class standing {
  ok,
  note,     ///< something is slower, or not there
  problem,  ///< something is broken
};

struct finding {
  std::string what;
  standing is = standing::ok;
  std::string text;
  std::string advice{};  ///< what to do, unless it is ok
};

/// A process that was run: what it printed, and its exit status; -1 where it
/// cannot be started or did not end.
struct child_result {
  int status = -1;
  std::string text;
};

/// Runs a program, for at most so many seconds. Its standard error is part of
/// the text.
child_result run_child(const std::vector<std::string>& words, double seconds);

struct gpu_facts {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  double gib = 0;
};

struct cuda_facts {
  int driver =
      0;  ///< CUDA version that the driver has, 13010 for 13.1; 0: none
  int runtime = 0;  ///< that this program was built with
  std::vector<gpu_facts> gpus;
};

/// By version, commit and SPEC of this build.
finding judge_build(const std::string& version, const std::string& commit);
/// The instruction set in use, and all that processor and build have.
finding judge_simd(const std::string& used,
                   const std::vector<std::string>& supported);
finding judge_threads(int used, int cores);
finding judge_memory(double total_gib, double free_gib);
/// Nothing: the program has no GPU part.
std::vector<finding> judge_cuda(const std::optional<cuda_facts>& facts);
/// What `python` says to python_question().
finding judge_python(const std::string& python, const child_result& answer,
                     const std::string& version);
finding judge_gnuplot(const child_result& answer);

/// A program for Python that prints its version and the package's, a line
/// each, and where the package is.
const char* python_question();

/// 1 if there is a problem.
int status_of(const std::vector<finding>& all);
table to_table(const std::vector<finding>& all);
nlohmann::ordered_json to_json(const std::vector<finding>& all);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_DOCTOR_FINDINGS_HPP_
