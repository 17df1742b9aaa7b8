// What CUDA's runtime, as an archive, takes from glibc 2.34 and newer, where
// libpthread, libdl and librt are in libc: as 2.28 has it. A function here
// jumps to the one of the older version, whatever its arguments are.
//
// Sources: glibc's NEWS of 2.34; "symver" and "GOTPCREL" in the manual of GNU
// as.

#define ZEROULP_JUMP_TO(name, version)                        \
  asm(".pushsection .text." #name                             \
      ", \"ax\", @progbits\n"                                 \
      ".globl " #name "\n.hidden " #name "\n.type " #name     \
      ", @function\n" #name ":\n  jmp *" #name                \
      "_of_older@GOTPCREL(%rip)\n.size " #name ", . - " #name \
      "\n.popsection\n.symver " #name "_of_older, " #name "@GLIBC_" version);
#define ZEROULP_JUMP(name) ZEROULP_JUMP_TO(name, "2.2.5")

ZEROULP_JUMP(dlclose)
ZEROULP_JUMP_TO(dlmopen, "2.3.4")
ZEROULP_JUMP(dlvsym)
ZEROULP_JUMP(pthread_condattr_setpshared)
ZEROULP_JUMP(pthread_getspecific)
ZEROULP_JUMP(pthread_key_delete)
ZEROULP_JUMP(pthread_kill)
ZEROULP_JUMP(pthread_mutex_trylock)
ZEROULP_JUMP(pthread_mutexattr_destroy)
ZEROULP_JUMP(pthread_mutexattr_init)
ZEROULP_JUMP(pthread_mutexattr_setpshared)
ZEROULP_JUMP(pthread_mutexattr_settype)
ZEROULP_JUMP(pthread_rwlock_destroy)
ZEROULP_JUMP(pthread_rwlock_init)
ZEROULP_JUMP(pthread_rwlock_rdlock)
ZEROULP_JUMP(pthread_rwlock_timedrdlock)
ZEROULP_JUMP(pthread_rwlock_timedwrlock)
ZEROULP_JUMP(pthread_rwlock_tryrdlock)
ZEROULP_JUMP(pthread_rwlock_trywrlock)
ZEROULP_JUMP(pthread_rwlock_unlock)
ZEROULP_JUMP(pthread_rwlock_wrlock)
ZEROULP_JUMP(pthread_rwlockattr_destroy)
ZEROULP_JUMP(pthread_rwlockattr_init)
ZEROULP_JUMP(pthread_rwlockattr_setpshared)
ZEROULP_JUMP(pthread_spin_destroy)
ZEROULP_JUMP(pthread_spin_init)
ZEROULP_JUMP(pthread_spin_lock)
ZEROULP_JUMP(pthread_spin_trylock)
ZEROULP_JUMP(pthread_spin_unlock)
ZEROULP_JUMP(sem_destroy)
ZEROULP_JUMP(sem_init)
ZEROULP_JUMP(sem_post)
ZEROULP_JUMP(sem_timedwait)
ZEROULP_JUMP(sem_trywait)
ZEROULP_JUMP(sem_wait)
ZEROULP_JUMP(shm_open)
ZEROULP_JUMP(shm_unlink)
