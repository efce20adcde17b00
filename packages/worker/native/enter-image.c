/*
 * Prepares the mount points of a sandbox with an image, becomes an unprivileged user and runs a program, which mounts there.
 *
 *     enter-image UID NAMESPACE ROOT PATH... -- PROGRAM ARGUMENT...
 *
 * UID 0 means that the program already runs as the right user: as root of a user namespace of a worker that is not the
 * host's root. The files below ROOT are hostile. Every PATH becomes a folder, or a file for "file:PATH", to which no symbolic
 * link leads. Otherwise a mount at this path could end up outside of ROOT. Nothing may be running in the sandbox.
 *
 * NAMESPACE is the open file of the sandbox's user namespace. The mount points are created by its root, because their folders
 * may belong to any user of the image. This root has no power over other files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *action, const char *path) {
  fprintf(stderr, "enter-image: %s %s: %s\n", action, path, strerror(errno));
  exit(1);
}

static void make_mountpoint(const char *root, const char *path) {
  int is_file = strncmp(path, "file:", 5) == 0;
  char *rest = strdup(is_file ? path + 5 : path), *name;
  int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || !rest) fail("open", "the root");
  while ((name = strsep(&rest, "/"))) {
    struct stat status;
    if (*name == 0) continue;
    int is_folder = !is_file || rest;
    int exists = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && (status.st_mode & S_IFMT) != (is_folder ? S_IFDIR : S_IFREG)) {
      if (unlinkat(folder, name, S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0)) fail("replace", path);
      exists = 0;
    }
    if (!exists && is_folder && mkdirat(folder, name, 0755)) fail("create", path);
    int flags = is_folder ? O_PATH | O_DIRECTORY : O_RDONLY | O_CREAT | O_NONBLOCK;
    int next = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (next < 0) fail("open", path);
    close(folder);
    folder = next;
  }
  close(folder);
}

/* Returns after all mount points exist. */
static void make_mountpoints(int user_namespace, const char *root, char **paths, int count) {
  if (count == 0) return;
  int status;
  pid_t pid = fork();
  if (pid < 0) fail("create", "a process");
  if (pid == 0) {
    if (setns(user_namespace, CLONE_NEWUSER)) fail("enter", "the user namespace");
    for (int i = 0; i < count; i++) make_mountpoint(root, paths[i]);
    exit(0);
  }
  if (waitpid(pid, &status, 0) < 0 || status != 0) exit(1);
}

static int is_host_root(void) {
  unsigned inside = 0, outside = 0, count = 0;
  FILE *map = fopen("/proc/self/uid_map", "re");
  if (!map || fscanf(map, "%u %u %u", &inside, &outside, &count) != 3) return 1;
  fclose(map);
  return geteuid() == 0 && outside == 0;
}

static void become(unsigned uid) {
  if (uid == 0 && !is_host_root()) return;
  if (uid == 0) errno = EPERM, fail("run as", "root");
  if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)) fail("change to uid", "of the sandbox");
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: enter-image UID NAMESPACE ROOT PATH... -- PROGRAM ARGUMENT...\n");
    return 2;
  }
  unsigned uid = (unsigned)strtoul(argv[1], NULL, 10);
  umask(022);
  become(uid);
  int i = 4;
  while (i < argc && strcmp(argv[i], "--") != 0) i++;
  if (i + 1 >= argc) return 2;
  make_mountpoints(atoi(argv[2]), argv[3], argv + 4, i - 4);
  execvp(argv[i + 1], argv + i + 1);
  fail("run", argv[i + 1]);
}
