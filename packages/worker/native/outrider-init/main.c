#include "init.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_signal(struct source *source) {
  struct signalfd_siginfo info;
  (void)!read(source->fd, &info, sizeof info);
  reap();
}

/** A container has only its standard streams: its stdin and stdout become the connection. */
static int take_standard_streams(void) {
  if (dup2(0, CONNECTION_FD) < 0 || dup2(1, CONTAINER_OUTPUT_FD) < 0) end_sandbox();
  return CONTAINER_OUTPUT_FD;
}

/** Closes every file except the connection. An open file of the host would be a way out of the sandbox. */
static void close_inherited_files(int last_fd) {
  int null = open("/dev/null", O_RDWR);
  if (null < 0) end_sandbox();
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  close_files(3, CONNECTION_FD - 1);
  close_files((unsigned)last_fd + 1, ~0U);
}

/** `container`: the connection is stdin and stdout. */
int main(int argc, char **argv) {
  bool is_container = argc > 1 && strcmp(argv[1], "container") == 0;
  // No process of the sandbox may read or change the memory of this one, or see its files.
  if (prctl(PR_SET_DUMPABLE, 0) != 0) end_sandbox();
  if (getpid() != 1 || (!is_container && fcntl(CONNECTION_FD, F_GETFD) < 0)) {
    fputs("outrider-init: a worker starts this program as the first process of a sandbox.\n", stderr);
    return 2;
  }
  int output_fd = is_container ? take_standard_streams() : -1;
  close_inherited_files(is_container ? output_fd : CONNECTION_FD);
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  struct source source = {.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), .on_ready = on_signal};
  if (source.fd < 0) end_sandbox();
  watch(&source, EPOLLIN);
  start_connection(output_fd);
  run_loop();
}
