// Answers the questions of a sealed plug-in's system-call filter.

#include "conformance/plugin/process/supervisor.hpp"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "conformance/plugin/process/processes.hpp"

namespace zeroulp::conformance::plugin {

int most_tasks() {
  // A thread pool has one thread for each core; there may be several pools.
  return 256 + 16 * static_cast<int>(std::thread::hardware_concurrency());
}

supervisor::supervisor(int listener, pid_t root)
    : listener_(listener), root_(root) {
  // A newer kernel writes more bytes than this header declares.
  seccomp_notif_sizes sizes{};
  syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
  question_.resize(
      std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif)));
  answer_.resize(std::max<std::size_t>(sizes.seccomp_notif_resp,
                                       sizeof(seccomp_notif_resp)));
}

void supervisor::close() {
  if (listener_ >= 0) ::close(listener_);
  listener_ = -1;
}

void supervisor::answer() {
  std::fill(question_.begin(), question_.end(), '\0');
  std::fill(answer_.begin(), answer_.end(), '\0');
  auto* const q = reinterpret_cast<seccomp_notif*>(question_.data());
  if (ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, q) != 0) {
    // ENOENT: the asking thread has been killed.
    if (errno != ENOENT && errno != EINTR) close();
    return;
  }
  auto* const a = reinterpret_cast<seccomp_notif_resp*>(answer_.data());
  a->id = q->id;
  a->error = -decide(q->data);
  // The decision is about numbers in registers: nobody changes them now.
  if (a->error == 0) a->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, a);
}

int supervisor::decide(const seccomp_data& call) {
  switch (call.nr) {
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
      return may_signal(call.nr, static_cast<pid_t>(call.args[0])) ? 0 : EPERM;
    default:
      return has_room() ? 0 : EAGAIN;
  }
}

bool supervisor::has_room() {
  if (room_ == 0) {
    int tasks = 0;
    for (const auto& p : descendants_of(root_)) tasks += p.threads;
    room_ = std::max(0, most_tasks() - tasks);
  }
  if (room_ == 0) return false;
  --room_;
  return true;
}

bool supervisor::may_signal(int call, pid_t to) const {
  // Its own group: the plug-in began a session, so all members are its own.
  if (to == 0) return call == SYS_kill;
  if (to > 0) return descends_from(to, root_);
  if (to == -1 || call != SYS_kill) return false;
  const auto all = descendants_of(root_);
  return std::any_of(all.begin(), all.end(),
                     [to](const auto& p) { return p.group == -to; });
}

}  // namespace zeroulp::conformance::plugin
