#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_FD 3

static void report(int kind, int value, int step) {
  struct report message = {.kind = kind, .value = value, .step = step};
  while (write(REPORT_FD, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

static bool enter_folder(const char **folders) {
  for (; *folders; folders++) {
    if (chdir(*folders) == 0) return true;
  }
  return false;
}

/**
 * In a pod, a command of root lacks a capability that init has, so that the kernel forbids the command to trace init and its
 * connection. Other users have no capabilities.
 */
static void drop_capabilities(const struct start *start) {
  bool is_root = !start->has_user || start->uid == 0;
  for (int capability = 0; capability <= CAP_LAST_CAP; capability++) {
    if (!is_root || capability == CAP_SYS_CHROOT) prctl(PR_CAPBSET_DROP, capability);
  }
}

static bool change_user(const struct start *start) {
  if (!start->has_user) return true;
  return setgroups(start->group_count, start->groups) == 0 && setresgid(start->gid, start->gid, start->gid) == 0 &&
         setresuid(start->uid, start->uid, start->uid) == 0;
}

/** The filter stays with all descendants of the command. It must come last, because it would also apply to what precedes it. */
static bool filter_calls(const struct start *start) {
  if (start->filter.len == 0) return true;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &start->filter) == 0;
}

/** Prepares the new process. Returns only if a step fails. */
static int become_command(const struct start *start) {
  struct sigaction reset = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++) sigaction(number, &reset, NULL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = start->open_files;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  setsid();
  if (start->has_terminal && ioctl(0, TIOCSCTTY, 0) != 0) return STEP_TERMINAL;
  if (is_pod()) drop_capabilities(start);
  if (!change_user(start)) return STEP_USER;
  if (!enter_folder(start->folders)) return STEP_FOLDER;
  if (!filter_calls(start)) return STEP_FILTER;
  execve(start->argv[0], (char **)start->argv, (char **)start->env);
  return STEP_EXEC;
}

struct failure {
  int error, step;
};

/** Starts the command and waits until it runs its program. The end of the pipe tells that it does. */
static pid_t start_main_process(const struct start *start) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    report(REPORT_FAILED, errno, STEP_FORK);
    return -1;
  }
  pid_t pid = fork();
  if (pid == 0) {
    struct failure failure;
    close(REPORT_FD);
    failure.step = become_command(start);
    failure.error = errno;
    (void)!write(ends[1], &failure, sizeof failure);
    _exit(127);
  }
  if (pid < 0) report(REPORT_FAILED, errno, STEP_FORK);
  close(ends[1]);
  // Only the command may have its files open, because their end tells that it has closed them.
  for (int fd = 0; fd < 3; fd++) close(fd);
  struct failure failure;
  ssize_t size = 0;
  while (pid > 0 && (size = read(ends[0], &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  close(ends[0]);
  if (size == sizeof failure) report(REPORT_FAILED, failure.error, failure.step);
  else if (pid > 0) report(REPORT_STARTED, 0, 0);
  return pid;
}

/**
 * Where init is root only to change users, the supervisor is the same user as the command, which it does not have to
 * protect itself from: init ends what a supervisor leaves behind.
 */
static struct start change_user_early(struct start start) {
  if (!is_pod() || !start.has_user || start.uid == 0) return start;
  drop_capabilities(&start);
  if (!change_user(&start)) {
    report(REPORT_FAILED, errno, STEP_USER);
    _exit(1);
  }
  start.has_user = false;
  return start;
}

void supervise(const struct start *given) {
  struct start own = change_user_early(*given), *start = &own;
  prctl(PR_SET_NAME, "outrider-sup");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t main_process = start_main_process(start);
  for (;;) {
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) _exit(0);
    if (pid == main_process) report(REPORT_EXITED, status, 0);
  }
}
