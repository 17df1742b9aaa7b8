// A plug-in for tests that does $ZEROULP_DEED as it is loaded, to the file
// $ZEROULP_TARGET or in the home $ZEROULP_HOME, and whose name then says
// whether it could. Otherwise it is the engine's (plugin_engine.c).

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define zeroulp_plugin_table honest_table
#include "../../../tools/examples/plugin_engine.c"
#undef zeroulp_plugin_table

static char report[256] = "does nothing";
static const char* target;

static int write_to(const char* path, int flags) {
  const int file = open(path, flags, 0600);
  return file < 0 ? -1 : (int)write(file, "hostile", 7);
}
static int path_in(char* path, const char* folder) {
  return snprintf(path, 512, "%s/hostile_was_here", folder);
}

// Files. Each returns below 0, and errno, if it could not.
static int write_here(void) {
  return write_to("hostile_was_here", O_CREAT | O_WRONLY);
}
static int write_home(void) {
  char path[512];
  path_in(path, getenv("ZEROULP_HOME"));
  return write_to(path, O_CREAT | O_WRONLY);
}
static int overwrite(void) { return write_to(target, O_WRONLY); }
static int empty_by_reading(void) { return open(target, O_RDONLY | O_TRUNC); }
static int empty_by_neither(void) { return open(target, O_ACCMODE | O_TRUNC); }
static int cut(void) { return truncate(target, 0); }
static int erase(void) { return unlink(target); }
static int move(void) { return rename(target, "hostile_was_here"); }
static int make_folder(void) { return mkdir("hostile_was_here", 0700); }
static int set_mode(void) { return chmod(target, 0); }
static int set_time(void) { return utimes(target, NULL); }
static int through_a_link(void) {
  char path[512];
  path_in(path, getenv("TMPDIR"));
  if (symlink(target, path) != 0) return -1;
  return write_to(path, O_WRONLY);
}
/// The one that it may; what is in it says so.
static int own_folder(void) {
  const char* const folder = getenv("HOME");
  char path[512];
  path_in(path, folder);
  if (strcmp(folder, getenv("TMPDIR")) != 0) return -1;
  if (write_to(path, O_CREAT | O_WRONLY) < 0) return -1;
  // Of any depth, and without permissions, it is removed.
  for (int depth = 0; depth < 1000; ++depth) {
    if (mkdir("deep", 0700) != 0 && depth > 0) return -1;
    if (chdir(depth == 0 ? folder : "deep") != 0) return -1;
  }
  mkdir("locked", 0);
  strncpy(report, folder, sizeof report - 1);
  return 0;
}
static int large_file(void) {
  char path[512];
  path_in(path, getenv("TMPDIR"));
  signal(SIGXFSZ, SIG_IGN);
  const int file = open(path, O_CREAT | O_WRONLY, 0600);
  const int done = (int)pwrite(file, "x", 1, (off_t)1 << 30);
  const int why = errno;
  unlink(path);
  errno = why;
  return done;
}

// The network.
static int inet(void) { return socket(AF_INET, SOCK_STREAM, 0); }
static int inet6(void) { return socket(AF_INET6, SOCK_DGRAM, 0); }
static int local(void) { return socket(AF_UNIX, SOCK_STREAM, 0); }
/// A service of the user's: one that is not there would refuse.
static int service(void) {
  const int made = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  const struct sockaddr_un name = {AF_UNIX, "/hostile_is_nowhere"};
  return made < 0 ? -1
                  : connect(made, (const struct sockaddr*)&name, sizeof name);
}
/// What CUDA does as it begins: names its threads, listens to its own.
static int begin_as_cuda(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)gettid());
  if (write_to(path, O_WRONLY) < 0) return -1;
  const struct sockaddr_un name = {AF_UNIX, "\0zeroulp-hostile"};
  const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  const socklen_t length = sizeof(sa_family_t) + 16;
  if (bind(made, (const struct sockaddr*)&name, length) != 0) return -1;
  return listen(made, 1);
}
/// A datagram goes wherever its address says.
static int local_pair(void) {
  int ends[2];
  return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
}

// What is the user's.
static int secret(void) {
  errno = ENOENT;
  return getenv("HOSTILE_SECRET") != NULL ? 0 : -1;
}
/// zeroulp's is the parent of the keeper.
static int secret_of_parent(void) {
  char path[64], text[65536];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
  FILE* const stat = fopen(path, "r");
  int parent = 0;
  if (stat == NULL || fscanf(stat, "%*d %*s %*c %d", &parent) != 1) return -1;
  snprintf(path, sizeof path, "/proc/%d/environ", parent);
  const int file = open(path, O_RDONLY);
  const ssize_t size = file < 0 ? -1 : read(file, text, sizeof text);
  if (size <= 0) return -1;
  return memmem(text, (size_t)size, "HOSTILE_SECRET", 14) != NULL ? 0 : -1;
}

// Other processes.
static int signal_parent(void) { return kill(getppid(), SIGKILL); }
static int stop_parent(void) { return kill(getppid(), SIGSTOP); }
static int signal_all(void) { return kill(-1, 0); }
static int signal_by_file(void) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  return fcntl(ends[0], F_SETOWN, getppid());
}
static int trace_parent(void) {
  return (int)ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
}
static int write_parent(void) {
  char byte = 0;
  struct iovec mine = {&byte, 1}, theirs = {&byte, 1};
  return (int)process_vm_writev(getppid(), &mine, 1, &theirs, 1, 0);
}
static int limit_parent(void) {
  struct rlimit now;
  return prlimit(getppid(), RLIMIT_NOFILE, NULL, &now);
}
static int slow_parent(void) {
  return setpriority(PRIO_PROCESS, (id_t)getppid(), 19);
}
static int move_parent(void) {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  return sched_setaffinity(getppid(), sizeof first, &first);
}
static int idle_parent(void) {
  const struct sched_param none = {0};
  return sched_setscheduler(getppid(), SCHED_IDLE, &none);
}
static int shared_segment(void) {
  return shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
}
static int new_user(void) { return unshare(CLONE_NEWUSER); }
static int ring(void) {
  char parameters[256] = {0};
  return (int)syscall(425, 1, parameters);  // io_uring_setup
}
/// Its own it may signal: those that wait, and those that are its child's.
static int signal_own(void) {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) pause();
  if (kill(child, SIGTERM) != 0) return -1;
  return raise(SIGURG);
}

// Limits. The report says how far it came.
static int memory(void) {
  int count = 0;
  while (count < 100000 && malloc((size_t)1 << 30) != NULL) ++count;
  snprintf(report, sizeof report, "allocated %d GiB", count);
  return 0;
}
/// Which process it was.
static int tell_process(void) {
  snprintf(report, sizeof report, "process %d", (int)getpid());
  return 0;
}
static int processes(void) {
  int count = 0;
  for (; count < 5000; ++count) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      for (;;) pause();
    }
  }
  snprintf(report, sizeof report, "forked %d", count);
  return 0;
}
/// Twice as many each time.
static int bomb(void) {
  if (fork() == 0) {
    for (;;) fork();
  }
  return 0;
}
static int daemon_of_its_own(void) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      signal(SIGHUP, SIG_IGN);
      signal(SIGTERM, SIG_IGN);
      for (;;) pause();
    }
    _exit(0);
  }
  usleep(100000);
  return 0;
}

static const struct {
  const char* name;
  int (*act)(void);
} deeds[] = {{"write_here", write_here},
             {"write_home", write_home},
             {"overwrite", overwrite},
             {"empty_by_reading", empty_by_reading},
             {"empty_by_neither", empty_by_neither},
             {"cut", cut},
             {"erase", erase},
             {"move", move},
             {"make_folder", make_folder},
             {"set_mode", set_mode},
             {"set_time", set_time},
             {"through_a_link", through_a_link},
             {"own_folder", own_folder},
             {"large_file", large_file},
             {"inet", inet},
             {"inet6", inet6},
             {"local", local},
             {"local_pair", local_pair},
             {"service", service},
             {"begin_as_cuda", begin_as_cuda},
             {"secret", secret},
             {"secret_of_parent", secret_of_parent},
             {"signal_parent", signal_parent},
             {"stop_parent", stop_parent},
             {"signal_all", signal_all},
             {"signal_by_file", signal_by_file},
             {"trace_parent", trace_parent},
             {"write_parent", write_parent},
             {"limit_parent", limit_parent},
             {"slow_parent", slow_parent},
             {"move_parent", move_parent},
             {"idle_parent", idle_parent},
             {"shared_segment", shared_segment},
             {"new_user", new_user},
             {"ring", ring},
             {"signal_own", signal_own},
             {"memory", memory},
             {"tell_process", tell_process},
             {"processes", processes},
             {"bomb", bomb},
             {"daemon", daemon_of_its_own}};

__attribute__((constructor)) static void act(void) {
  const char* const deed = getenv("ZEROULP_DEED");
  target = getenv("ZEROULP_TARGET");
  for (size_t i = 0; deed != NULL && i < sizeof deeds / sizeof *deeds; ++i) {
    if (strcmp(deed, deeds[i].name) != 0) continue;
    char result[128];
    if (deeds[i].act() < 0) {
      snprintf(result, sizeof result, "prevented: %s", strerror(errno));
    } else {
      snprintf(result, sizeof result, "did it");
    }
    if (strcmp(report, "does nothing") == 0) strcpy(report, result);
  }
}

static const zeroulp_plugin_claim mine[] = {
    {ZEROULP_PLUGIN_SWIGLU, NULL, "from=bf16,to=bf16", {0, 0, 0}}};

ZEROULP_PLUGIN_VISIBLE const zeroulp_plugin* zeroulp_plugin_table(void) {
  static zeroulp_plugin table;
  table = *honest_table();
  table.name = report;
  table.claims = mine;
  table.claim_count = 1;
  return &table;
}
