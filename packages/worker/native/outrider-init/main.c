#include "init.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void on_signal(struct source *source) {
  struct signalfd_siginfo info;
  (void)!read(source->fd, &info, sizeof info);
  reap();
}

/** Closes every file except the connection. An open file of the host would be a way out of the sandbox. */
static void close_inherited_files(void) {
  int null = open("/dev/null", O_RDWR);
  if (null < 0) end_sandbox();
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  if (syscall(SYS_close_range, 3, CONNECTION_FD - 1, 0) == 0 && syscall(SYS_close_range, CONNECTION_FD + 1, ~0U, 0) == 0) return;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) end_sandbox();
  for (int fd = 3; fd < (int)limit.rlim_max; fd++) {
    if (fd != CONNECTION_FD) close(fd);
  }
}

int main(void) {
  // No process of the sandbox may read or change the memory of this one, or see its files.
  if (prctl(PR_SET_DUMPABLE, 0) != 0) end_sandbox();
  if (getpid() != 1 || fcntl(CONNECTION_FD, F_GETFD) < 0) {
    fputs("outrider-init: a worker starts this program as the first process of a sandbox.\n", stderr);
    return 2;
  }
  close_inherited_files();
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  struct source source = {.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), .on_ready = on_signal};
  if (source.fd < 0) end_sandbox();
  watch(&source, EPOLLIN);
  start_connection();
  run_loop();
}
