/*
 * Prepares the files of a sandbox with an image, in the mount namespace of the caller.
 *
 *     mount-image UID STORE_UID COUNT PROCESSES STEP...
 *
 * Image files belong to the ids STORE_UID to STORE_UID + COUNT - 1 on disk. The program creates a user namespace in which 0
 * is UID, and shows the files in mounts that map STORE_UID to UID. So every sandbox can have ids of its own over shared
 * files. If UID equals STORE_UID, the mounts need no mapping. Without the host's root, the program runs as root of a user
 * namespace that already has these ids, and UID and STORE_UID are 0.
 *
 * At most PROCESSES processes can run in the user namespace, whatever their users are. 0 means no limit.
 *
 * Steps, in order:
 *     folder PATH             creates a folder that belongs to STORE_UID
 *     shared-folder PATH      creates a folder in which everyone can create files
 *     bind SOURCE TARGET      mounts SOURCE at TARGET, with mapped ids
 *     place SOURCE TARGET     mounts SOURCE at TARGET, with everything that is mounted below it, and changes to TARGET
 *     overlay OPTIONS TARGET  mounts an overlay as UID, which owns what the overlay creates in its upper layer
 *
 * Then it prints the pid of a process in the user namespace and waits until stdin ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *format, ...) {
  const char *reason = strerror(errno);
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fprintf(stderr, ": %s\n", reason);
  exit(1);
}

static unsigned parse_id(const char *text) {
  char *end;
  unsigned long value = strtoul(text, &end, 10);
  if (*text == 0 || *end != 0 || value > 0xfffffffeUL) {
    fprintf(stderr, "invalid id: %s\n", text);
    exit(2);
  }
  return (unsigned)value;
}

static void write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text)) fail("write %s", path);
  close(file);
}

static void become(unsigned uid) {
  if (uid == 0) return; /* this process is root already */
  if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)) fail("change to uid %u", uid);
}

static void write_map(pid_t pid, const char *name, unsigned inside, unsigned outside, unsigned count) {
  char path[64], map[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  snprintf(map, sizeof map, "%u %u %u", inside, outside, count);
  write_file(path, map);
}

/* Starts a process in a new user namespace that maps `inside` to `outside`. It exits with this process. */
static pid_t start_in_user_namespace(unsigned owner, unsigned inside, unsigned outside, unsigned count, unsigned processes, int is_final) {
  int ready[2], mapped[2];
  if (pipe2(ready, O_CLOEXEC) || pipe2(mapped, O_CLOEXEC)) fail("pipe");
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) {
    char byte;
    become(owner);
    /* The kernel remembers the limit of the process that creates a namespace and applies it to all processes inside. */
    struct rlimit limit = {processes, processes};
    if (processes && setrlimit(RLIMIT_NPROC, &limit)) fail("limit the processes");
    if (unshare(CLONE_NEWUSER)) fail("create a user namespace");
    /* Set now, because a change of credentials clears it. If the parent has already exited, the pipe is closed. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(mapped[1]);
    if (write(ready[1], "", 1) != 1 || read(mapped[0], &byte, 1) != 1) exit(1);
    /* A sandbox creates no further user namespaces: they would give its root more kernel code to attack. */
    if (is_final) write_file("/proc/sys/user/max_user_namespaces", "0");
    if (write(ready[1], "", 1) != 1) exit(1);
    for (int file = 0; file <= 2; file++) close(file);
    for (;;) pause();
  }
  close(ready[1]);
  close(mapped[0]);
  char byte;
  if (read(ready[0], &byte, 1) != 1) exit(1);
  write_map(pid, "uid_map", inside, outside, count);
  write_map(pid, "gid_map", inside, outside, count);
  if (write(mapped[1], "", 1) != 1 || read(ready[0], &byte, 1) != 1) exit(1);
  close(ready[0]);
  close(mapped[1]);
  return pid;
}

static int open_user_namespace(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("open %s", path);
  return file;
}

static void bind_mapped(const char *source, const char *target, int user_namespace) {
  int tree = (int)syscall(SYS_open_tree, AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (tree < 0) fail("open_tree %s", source);
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID};
  if (user_namespace >= 0) {
    attributes.attr_set |= MOUNT_ATTR_IDMAP;
    attributes.userns_fd = (unsigned)user_namespace;
  }
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes)) fail("mount_setattr %s", source);
  if (syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH)) fail("move_mount %s", target);
  close(tree);
}

/* Overlays create files in the upper layer with the ids of the process that mounted them, which must be mapped there. */
static void mount_overlay(const char *options, const char *target, unsigned uid) {
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    prctl(PR_SET_KEEPCAPS, 1);
    become(uid);
    if (syscall(SYS_capget, &header, data)) fail("capget");
    for (int i = 0; i < 2; i++) data[i].effective = data[i].permitted;
    if (syscall(SYS_capset, &header, data)) fail("capset");
    if (mount("overlay", target, "overlay", MS_NODEV, options)) fail("mount the overlay");
    exit(0);
  }
  int status;
  if (waitpid(pid, &status, 0) < 0 || status != 0) exit(1);
}

static void place(const char *source, const char *target) {
  if (mount(source, target, NULL, MS_BIND | MS_REC, NULL)) fail("mount %s", source);
  if (chdir(target)) fail("chdir %s", target);
}

static void make_folder(const char *path, unsigned owner, mode_t mode) {
  if (mkdir(path, 0700) || chmod(path, mode)) fail("mkdir %s", path);
  if (chown(path, owner, owner)) fail("chown %s", path);
}

int main(int argc, char **argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: mount-image UID STORE_UID COUNT PROCESSES STEP...\n");
    return 2;
  }
  unsigned uid = parse_id(argv[1]), store = parse_id(argv[2]), count = parse_id(argv[3]), processes = parse_id(argv[4]);
  umask(022);
  pid_t holder = start_in_user_namespace(uid, 0, uid, count, processes, 1);
  int map = -1;
  if (uid != store) {
    pid_t mapper = start_in_user_namespace(0, store, uid, count, 0, 0);
    map = open_user_namespace(mapper);
    kill(mapper, SIGKILL);
    waitpid(mapper, NULL, 0);
  }
  for (int i = 5; i < argc;) {
    const char *step = argv[i], *first = i + 1 < argc ? argv[i + 1] : NULL, *second = i + 2 < argc ? argv[i + 2] : NULL;
    if (first && strcmp(step, "folder") == 0) {
      make_folder(first, store, 0755);
      i += 2;
    } else if (first && strcmp(step, "shared-folder") == 0) {
      make_folder(first, store, 01777);
      i += 2;
    } else if (second && strcmp(step, "bind") == 0) {
      bind_mapped(first, second, map);
      i += 3;
    } else if (second && strcmp(step, "place") == 0) {
      place(first, second);
      i += 3;
    } else if (second && strcmp(step, "overlay") == 0) {
      mount_overlay(first, second, uid);
      i += 3;
    } else {
      fprintf(stderr, "invalid step: %s\n", step);
      return 2;
    }
  }
  printf("%d\n", holder);
  fflush(stdout);
  char buffer[64];
  while (read(0, buffer, sizeof buffer) > 0) {
  }
  kill(holder, SIGKILL);
  return 0;
}
