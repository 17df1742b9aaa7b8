#include "tools/zeroulp/doctor/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "zeroulp/spec_version.hpp"

namespace zeroulp::program {
namespace {

constexpr double little_memory = 2;  ///< GiB: less than `study --preset quick`

const char* name_of(standing s) {
  constexpr const char* names[] = {"ok", "note", "problem"};
  return names[static_cast<int>(s)];
}

std::string cuda_version(int v) {
  return fmt::format("{}.{}", v / 1000, v % 1000 / 10);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

finding judge_gpu(const gpu_facts& g) {
  finding f{"GPU", standing::ok,
            fmt::format("{}, compute capability {}.{}, {:.0f} GiB", g.name,
                        g.major, g.minor, g.gib)};
  if (g.major == 9 && g.minor == 0) return f;
  f.is = standing::note;
  f.advice = "the kernels are for 9.0 (H100, H200): use the CPU here";
  return f;
}

finding judge_driver(const cuda_facts& facts) {
  finding f{
      "CUDA", standing::ok,
      fmt::format("driver for {}, this program is of {}",
                  cuda_version(facts.driver), cuda_version(facts.runtime))};
  if (facts.driver == 0) {
    f.text = "no driver; this program is of " + cuda_version(facts.runtime);
    f.is = standing::note;
    f.advice = "only --gpu, bench gpu and --on gpu need one";
  } else if (facts.driver / 1000 < facts.runtime / 1000) {
    f.is = standing::problem;
    f.advice = "update the driver, or build with an older CUDA toolkit";
  }
  return f;
}

}  // namespace

finding judge_build(const std::string& version, const std::string& commit) {
  finding f{"zeroulp", standing::ok,
            fmt::format("{}, version {} of the SPEC, commit {}", version,
                        spec_version, commit)};
  if (commit.ends_with("-dirty")) {
    f.is = standing::note;
    f.advice = "built from changed files: a record of it cannot be made again";
  }
  return f;
}

finding judge_simd(const std::string& used,
                   const std::vector<std::string>& supported) {
  finding f{"SIMD", standing::ok,
            fmt::format("{} of {}", used, fmt::join(supported, ", "))};
  if (supported.size() == 1) {
    f.is = standing::note;
    f.advice = "the same bits, slower: AVX2 or AVX-512 would be used";
  }
  return f;
}

finding judge_threads(int used, int cores) {
  finding f{"threads", standing::ok,
            fmt::format("{} on {} cores", used, cores)};
  if (used < cores) {
    f.is = standing::note;
    f.advice = "unset OMP_NUM_THREADS to use all cores";
  } else if (used > cores) {
    f.is = standing::note;
    f.advice = fmt::format("OMP_NUM_THREADS={} would be faster", cores);
  }
  return f;
}

finding judge_memory(double total_gib, double free_gib) {
  finding f{"memory", standing::ok,
            fmt::format("{:.1f} GiB, {:.1f} free", total_gib, free_gib)};
  if (free_gib < little_memory) {
    f.is = standing::note;
    f.advice = "use smaller matrices, or end other programs";
  }
  return f;
}

std::vector<finding> judge_cuda(const std::optional<cuda_facts>& facts) {
  if (!facts) {
    return {{"CUDA", standing::note, "this build has no GPU part",
             "for --gpu: install nvcc and build with -DZEROULP_CUDA=ON"}};
  }
  std::vector<finding> all{judge_driver(*facts)};
  for (const auto& g : facts->gpus) all.push_back(judge_gpu(g));
  if (facts->driver != 0 && facts->gpus.empty()) {
    all.push_back({"GPU", standing::note, "none",
                   "is it hidden by CUDA_VISIBLE_DEVICES?"});
  }
  return all;
}

const char* python_question() {
  return "import sys\n"
         "sys.path[:] = [p for p in sys.path if p]\n"
         "print(sys.version.split()[0])\n"
         "import importlib.util\n"
         "if importlib.util.find_spec('zeroulp'):\n"
         "    import zeroulp\n"
         "    print(zeroulp.__version__)\n"
         "    print(zeroulp.__path__[0])\n";
}

finding judge_python(const std::string& python, const child_result& answer,
                     const std::string& version) {
  finding f{"Python", standing::note, "", ""};
  const auto lines = lines_of(answer.text);
  if (answer.status < 0 || answer.status == 127 || lines.empty()) {
    f.text = python + " was not found";
    f.advice = "only plug-ins in Python and the package need it";
    return f;
  }
  f.text = fmt::format("{} {}", python, lines[0]);
  if (answer.status != 0) {
    f.is = standing::problem;
    f.text += ": the package zeroulp cannot be imported: " + lines.back();
    f.advice = "install the package again, or mend what is named";
  } else if (lines.size() < 3) {
    f.text += ", without the package zeroulp";
    f.advice = fmt::format("in zeroulp's tree: {} -m pip install tools/python",
                           python);
  } else {
    f.text += fmt::format(", zeroulp {} in {}", lines[1], lines[2]);
    f.is = lines[1] == version ? standing::ok : standing::problem;
    if (lines[1] != version) {
      f.advice = fmt::format(
          "its library is not of this program's version {}: install both from "
          "one commit",
          version);
    }
  }
  return f;
}

finding judge_gnuplot(const child_result& answer) {
  const auto lines = lines_of(answer.text);
  if (answer.status == 0 && !lines.empty()) {
    return {"gnuplot", standing::ok, lines[0]};
  }
  return {"gnuplot", standing::note, "not found",
          "without it reports have tables in place of figures"};
}

int status_of(const std::vector<finding>& all) {
  return std::any_of(all.begin(), all.end(), [](const finding& f) {
    return f.is == standing::problem;
  });
}

table to_table(const std::vector<finding>& all) {
  table t{{"", "", "found", "what to do"}, {}};
  for (const auto& f : all) {
    t.rows.push_back({name_of(f.is), f.what, f.text, f.advice});
  }
  return t;
}

nlohmann::ordered_json to_json(const std::vector<finding>& all) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& f : all) {
    list.push_back({{"what", f.what},
                    {"standing", name_of(f.is)},
                    {"found", f.text},
                    {"to_do", f.advice}});
  }
  return list;
}

}  // namespace zeroulp::program
