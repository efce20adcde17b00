/*
 * Enters the namespaces of a sandbox, becomes its user and runs a program. It replaces a shell and nsenter, whose start takes
 * longer than what they do.
 *
 *     enter-sandbox USER MOUNT UID GID PROGRAM ARGUMENT...
 *
 * USER and MOUNT are the open files of namespaces, or "-". UID and GID are "-" if the program runs as the same user.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *action, const char *name) {
  fprintf(stderr, "enter-sandbox: failed to %s %s: %s\n", action, name, strerror(errno));
  exit(1);
}

static int is_given(const char *argument) {
  return strcmp(argument, "-") != 0;
}

static unsigned parse(const char *text) {
  char *end;
  unsigned long value = strtoul(text, &end, 10);
  if (*text == 0 || *end != 0 || value > 0x7fffffffUL) errno = EINVAL, fail("parse", text);
  return (unsigned)value;
}

/*
 * The kernel kills processes with a high score before others. All processes of the sandbox inherit it. It is set outside the
 * sandbox, where /proc is writable. It is not essential, so errors are ignored.
 */
static void raise_oom_score(void) {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "500", 3) < 0) errno = 0;
  close(file);
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: enter-sandbox USER MOUNT UID GID PROGRAM ARGUMENT...\n");
    return 2;
  }
  raise_oom_score();
  if (is_given(argv[1]) && setns((int)parse(argv[1]), CLONE_NEWUSER)) fail("enter", "the user namespace");
  if (is_given(argv[2]) && setns((int)parse(argv[2]), CLONE_NEWNS)) fail("enter", "the mount namespace");
  if (is_given(argv[3])) {
    unsigned uid = parse(argv[3]), gid = parse(argv[4]);
    if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)) fail("become", "the sandbox user");
  }
  execvp(argv[5], argv + 5);
  fail("execute", argv[5]);
}
