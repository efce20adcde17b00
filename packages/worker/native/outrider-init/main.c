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
  if (dup2(0, CONNECTION_FD) < 0 || dup2(1, OUTPUT_FD) < 0) end_sandbox();
  return OUTPUT_FD;
}

/** Closes every file except these, or all if the first is above the last. An open file of the host would be a way out of the sandbox. */
static void close_inherited_files(int first_kept, int last_kept) {
  int null = open("/dev/null", O_RDWR);
  if (null < 0) end_sandbox();
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  if (first_kept > last_kept) return close_files(3, ~0U);
  close_files(3, (unsigned)first_kept - 1);
  close_files((unsigned)last_kept + 1, ~0U);
}

static void watch_processes(void) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  static struct source source;
  source = (struct source){.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), .on_ready = on_signal};
  if (source.fd < 0) end_sandbox();
  watch(&source, EPOLLIN);
}

/**
 *     outrider-init                       the connection is file 5
 *     outrider-init container             the connection is stdin and stdout
 *     outrider-init pod NAME TOKEN MS     connections come from the next one. Without any, init ends after MS
 *     outrider-init connect NAME          is not the first process: see pod.c
 */
int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  bool is_container = strcmp(mode, "container") == 0, is_in_pod = strcmp(mode, "pod") == 0;
  // No process of the sandbox may read or change the memory of this one, or see its files.
  if (prctl(PR_SET_DUMPABLE, 0) != 0) end_sandbox();
  if (strcmp(mode, "connect") == 0 && argc == 3) return connect_to_pod(argv[2]);
  if (getpid() != 1 || (!is_container && !is_in_pod && fcntl(CONNECTION_FD, F_GETFD) < 0)) {
    fputs("outrider-init: a worker starts this program as the first process of a sandbox.\n", stderr);
    return 2;
  }
  if (is_in_pod) {
    close_inherited_files(4, 3);
    watch_processes();
    start_pod(argv + 2, argc - 2);
  } else {
    int output_fd = is_container ? take_standard_streams() : -1;
    close_inherited_files(CONNECTION_FD, is_container ? output_fd : CONNECTION_FD);
    watch_processes();
    start_connection(CONNECTION_FD, output_fd);
  }
  run_loop();
}
