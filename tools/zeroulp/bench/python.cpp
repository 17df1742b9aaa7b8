#include "tools/zeroulp/bench/python.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace zeroulp::program {
namespace {

// Requests are lines, some followed by data:
//   convert FROM TO N       N numbers of FROM
//   quantize FROM TO N      N numbers of FROM, a scale for every 128
//   dequantize FROM N       N codes, a float32 scale for every 128
// number the jobs 0, 1, ...
//   run JOB                 answers the first 256 numbers of the result
constexpr const char* script = R"(
import sys
import numpy as np
import ml_dtypes as m
types = {'fp32': np.float32, 'fp16': np.float16, 'bf16': m.bfloat16,
         'e4m3': m.float8_e4m3fn, 'e5m2': m.float8_e5m2}
i, o = sys.stdin.buffer, sys.stdout.buffer

def say(data):
    o.write(data)
    o.flush()

def read(kind, n):
    kind = np.dtype(types[kind])
    return np.frombuffer(i.read(int(n) * kind.itemsize), kind)

def convert(source, to, n):
    x = read(source, n)
    return lambda: x.astype(types[to])

def quantize(source, to, n):
    x = read(source, n).reshape(-1, 128)
    most = np.float32(m.finfo(types[to]).max)
    def job():
        f = x.astype(np.float32, copy=False)
        return (f / (np.abs(f).max(1, keepdims=True) / most)).astype(types[to])
    return job

def dequantize(source, n):
    x = read(source, n).reshape(-1, 128)
    scales = read('fp32', int(n) // 128).reshape(-1, 1)
    return lambda: x.astype(np.float32) * scales

make = {'convert': convert, 'quantize': quantize, 'dequantize': dequantize}
jobs = []
say(b'!')
for line in i:
    verb, *rest = line.decode().split()
    if verb == 'run':
        say(jobs[int(rest[0])]().reshape(-1)[:256].tobytes())
    else:
        jobs.append(make[verb](*rest))
)";

}  // namespace

ml_dtypes::ml_dtypes() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error("no socket for python3");
  }
  socket_ = ends[0];
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY,
                                   0);
  std::string words[] = {"python3", "-c", script};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                       nullptr};
  const int failed =
      posix_spawnp(&child_, "python3", &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  char ready = 0;
  if (failed != 0) {
    child_ = -1;
  } else if (recv(socket_, &ready, 1, 0) == 1) {
    return;
  }
  close(socket_);
  if (child_ > 0) waitpid(child_, nullptr, 0);
  throw std::runtime_error(
      failed != 0 ? "no python3" : "python3 cannot import numpy and ml_dtypes");
}

ml_dtypes::~ml_dtypes() {
  close(socket_);
  waitpid(child_, nullptr, 0);
}

void ml_dtypes::send(const std::string& line) {
  const std::string text = line + "\n";
  send(text.data(), text.size());
}

void ml_dtypes::send(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const auto n = ::send(socket_, at, bytes, MSG_NOSIGNAL);
    if (n <= 0) throw std::runtime_error("python3 ended");
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void ml_dtypes::receive(void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const auto n = recv(socket_, at, bytes, 0);
    if (n <= 0) throw std::runtime_error("python3 ended");
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

std::shared_ptr<ml_dtypes> python_peer(bench_context& how) {
  static constexpr const char* what = "ml_dtypes: ";
  if (how.python || how.python_failed) return how.python;
  try {
    how.python = std::make_shared<ml_dtypes>();
  } catch (const std::runtime_error& e) {
    how.python_failed = true;
    how.absent.insert(std::string(what) + e.what());
  }
  return how.python;
}

}  // namespace zeroulp::program
