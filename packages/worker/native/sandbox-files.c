/*
 * Reads, writes and removes a file inside a sandbox, and prepares the folders of its user. It runs as the sandbox's user and resolves
 * paths as any program in the sandbox does, so a hostile path leads nowhere else. It needs no other program, so it works in
 * every image.
 *
 *     sandbox-files read LIMIT PATH     prints at most the first LIMIT bytes
 *     sandbox-files write SIZE PATH     replaces the file with stdin, which has SIZE bytes, and creates its folders
 *     sandbox-files remove PATH         removes a file or link
 *     sandbox-files prepare WORKSPACE HOME_LINK NAME|UID[:GID] [again]
 *                                       creates the folders of a user, as root, and prints "UID GID HOME SHELL GROUP...",
 *                                       each followed by NUL
 *     sandbox-files user NAME|UID[:GID] prints the same, without creating folders
 *
 * Exit codes: 44 if the file or user does not exist, 45 if it is not a file, 1 for other errors, with a message.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ACCOUNT_BYTES = 4 << 20, MAX_MEMORY = 256 << 20, MAX_SECONDS = 20 };
enum { NOT_FOUND = 44, NOT_A_FILE = 45, NOT_MAPPED = 46, MAX_LINKS = 40, MAX_GROUPS = 64 };

static void fail(const char *action) {
  fprintf(stderr, "%s: %s\n", action, strerror(errno));
  exit(1);
}

static void copy(int from, int to, unsigned long long limit, unsigned long long *copied) {
  static char buffer[1 << 16];
  *copied = 0;
  while (*copied < limit) {
    unsigned long long rest = limit - *copied;
    ssize_t size = read(from, buffer, rest < sizeof buffer ? (size_t)rest : sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail("read");
    if (size == 0) return;
    for (ssize_t done = 0; done < size;) {
      ssize_t written = write(to, buffer + done, (size_t)(size - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write");
      done += written;
    }
    *copied += (unsigned long long)size;
  }
}

static int read_file(unsigned long long limit, const char *path) {
  /* O_NONBLOCK: opening a fifo must not wait for a writer. */
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status;
  if (file < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return NOT_FOUND;
  if (file < 0 && errno == ENXIO) return NOT_A_FILE;
  if (file < 0) fail("open");
  if (fstat(file, &status)) fail("stat");
  if (!S_ISREG(status.st_mode)) return NOT_A_FILE;
  unsigned long long copied;
  copy(file, 1, limit, &copied);
  return 0;
}

static void parent_of(const char *path, char *parent) {
  const char *slash = strrchr(path, '/');
  if (!slash) strcpy(parent, ".");
  else if (slash == path) strcpy(parent, "/");
  else {
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = 0;
  }
}

/* Follows symbolic links, as an editor would, even if the last one points to a file that does not exist yet. */
static void follow_links(const char *path, char *target) {
  if (strlen(path) >= PATH_MAX) {
    errno = ENAMETOOLONG;
    fail("path");
  }
  strcpy(target, path);
  for (int links = 0; links < MAX_LINKS; links++) {
    char link[PATH_MAX], parent[PATH_MAX], next[2 * PATH_MAX];
    ssize_t size = readlink(target, link, sizeof link - 1);
    if (size < 0) return;
    link[size] = 0;
    parent_of(target, parent);
    if (link[0] == '/') snprintf(next, sizeof next, "%s", link);
    else snprintf(next, sizeof next, "%s/%s", parent, link);
    if (strlen(next) >= PATH_MAX) errno = ENAMETOOLONG, fail("path");
    strcpy(target, next);
  }
  errno = ELOOP;
  fail("path");
}

static void make_folders(const char *path) {
  char part[PATH_MAX];
  struct stat status;
  if (stat(path, &status) == 0) return;
  parent_of(path, part);
  if (strcmp(part, path) != 0 && strcmp(part, ".") != 0) make_folders(part);
  if (mkdir(path, 0777) && errno != EEXIST) fail("create the folder");
}

static int write_file(unsigned long long size, const char *path) {
  char target[PATH_MAX], parent[PATH_MAX], draft[PATH_MAX + 32];
  struct stat status;
  size_t length = strlen(path);
  if (length == 0) return NOT_FOUND;
  if (path[length - 1] == '/') return NOT_A_FILE;
  follow_links(path, target);
  int exists = stat(target, &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return NOT_A_FILE;
  parent_of(target, parent);
  make_folders(parent);
  snprintf(draft, sizeof draft, "%s/.outrider-XXXXXX", parent);
  int file = mkostemp(draft, O_CLOEXEC);
  if (file < 0) fail("create a temporary file");
  unsigned long long copied;
  copy(0, file, ULLONG_MAX, &copied);
  const char *action = NULL;
  if (copied != size) {
    errno = EIO; /* the worker died before it sent everything */
    action = "receive the file";
  } else if (exists && geteuid() == 0 && fchown(file, status.st_uid, status.st_gid)) action = "set the owner";
  else if (fchmod(file, exists ? status.st_mode & 07777 : 0644)) action = "set the mode";
  else if (close(file)) action = "write";
  else if (rename(draft, target)) action = "replace the file";
  if (!action) return 0;
  int reason = errno;
  unlink(draft);
  errno = reason;
  fail(action);
  return 1;
}

static int remove_file(const char *path) {
  struct stat status;
  if (lstat(path, &status)) return errno == ENOENT || errno == ENOTDIR ? NOT_FOUND : (fail("stat"), 1);
  if (S_ISDIR(status.st_mode)) return NOT_A_FILE;
  if (unlink(path)) fail("remove");
  return 0;
}

static int parse_id(const char *text, size_t length, unsigned *id) {
  if (length == 0 || length > 9) return 0;
  unsigned value = 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') return 0;
    value = value * 10 + (unsigned)(text[i] - '0');
  }
  *id = value;
  return 1;
}

/* Makes a folder part of the overlay's upper layer. A folder that is new, or the workspace, is given to the user. */
/* `is_again`: the folder is in the upper layer already. A change without effect would look like a change by a command. */
static void prepare_folder(const char *path, unsigned uid, unsigned gid, int is_workspace, int is_again) {
  struct stat status;
  int is_new = lstat(path, &status) != 0;
  make_folders(path);
  if (is_again && !is_new && S_ISDIR(status.st_mode) && (!is_workspace || (status.st_uid == uid && status.st_gid == gid)))
    return;
  if ((is_new || is_workspace) && lchown(path, uid, gid)) fail("set the owner of a folder");
  if (lstat(path, &status) || !S_ISDIR(status.st_mode)) errno = ENOTDIR, fail("prepare a folder");
  if (chmod(path, status.st_mode & 07777)) fail("set the mode of a folder");
}

/* The link is relative, so that it works wherever the files are mounted. */
static void link_home(const char *link, const char *home) {
  char parent[PATH_MAX], target[2 * PATH_MAX] = "", current[2 * PATH_MAX];
  parent_of(link, parent);
  make_folders(parent);
  for (const char *part = parent; *part; part++) {
    if (*part == '/' && part[1] != 0) strcat(target, target[0] ? "/.." : "..");
  }
  if (strlen(home) >= PATH_MAX) errno = ENAMETOOLONG, fail("link the home");
  strcat(target, home);
  /* A build may have begun with another user. */
  ssize_t size = readlink(link, current, sizeof current - 1);
  if (size >= 0) {
    current[size] = 0;
    if (strcmp(current, target) == 0) return;
    if (unlink(link)) fail("link the home");
  }
  if (symlink(target, link) && errno != EEXIST) fail("link the home");
}

/* The image's files of users and groups are hostile: a fifo would never end, and a device or a huge line would fill the memory. */
static void check_account_file(const char *path) {
  struct stat status;
  int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return;
  if (file < 0 || fstat(file, &status)) fail(path);
  close(file);
  if (S_ISREG(status.st_mode) && status.st_size <= MAX_ACCOUNT_BYTES) return;
  fprintf(stderr, "%s is not a file of at most 4 MiB\n", path);
  exit(1);
}

static void limit_resources(void) {
  struct rlimit memory = {MAX_MEMORY, MAX_MEMORY};
  if (setrlimit(RLIMIT_AS, &memory)) fail("limit the memory");
  alarm(MAX_SECONDS);
}

/* Returns the shell that runs commands, or an empty string. Small systems have no bash. */
static const char *find_shell(void) {
  static const char *shells[] = {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"};
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
    if (access(shells[i], X_OK) == 0) return shells[i];
  }
  return "";
}

/* Without ranges of ids, a worker that is not root can give its sandboxes only one. */
static int is_mapped(unsigned uid, unsigned gid) {
  const char *paths[] = {"/proc/self/uid_map", "/proc/self/gid_map"};
  for (int i = 0; i < 2; i++) {
    unsigned inside = 0, outside = 0, count = 0;
    FILE *map = fopen(paths[i], "re");
    if (!map || fscanf(map, "%u %u %u", &inside, &outside, &count) != 3) fail(paths[i]);
    fclose(map);
    if ((i ? gid : uid) >= count) return 0;
  }
  return 1;
}

/* Without a workspace, no folder is created. */
static int prepare(const char *workspace, const char *link, const char *spec, int is_again) {
  const char *colon = strchr(spec, ':');
  size_t length = colon ? (size_t)(colon - spec) : strlen(spec);
  char name[256];
  unsigned uid, gid;
  if (length >= sizeof name) return NOT_FOUND;
  memcpy(name, spec, length);
  name[length] = 0;
  int is_number = parse_id(spec, length, &uid);
  limit_resources();
  check_account_file("/etc/passwd");
  check_account_file("/etc/group");
  struct passwd *user = is_number ? getpwuid(uid) : getpwnam(name);
  if (!user && strcmp(name, "root") == 0) is_number = 1, uid = 0; /* a small image may have no /etc/passwd */
  if (!user && !is_number) return NOT_FOUND;
  if (user) uid = user->pw_uid;
  gid = user ? user->pw_gid : 0;
  if (colon) {
    struct group *group = getgrnam(colon + 1);
    if (group) gid = group->gr_gid;
    else if (!parse_id(colon + 1, strlen(colon + 1), &gid)) return NOT_FOUND;
  }
  if (!is_mapped(uid, gid)) return NOT_MAPPED;
  /* Many system users have no home, or the root folder. */
  const char *home = user && user->pw_dir[0] == '/' && user->pw_dir[1] != 0 ? user->pw_dir : link;
  /* The same home as with an account, because a command may remove /etc/passwd later. */
  if (!user && uid == 0) home = "/root";
  if (workspace) {
    prepare_folder(workspace, uid, gid, 1, is_again);
    prepare_folder(home, uid, gid, 0, is_again);
    if (strcmp(link, home) != 0) link_home(link, home);
  }
  printf("%u%c%u%c%s%c%s%c", uid, 0, gid, 0, home, 0, find_shell(), 0);
  if (user && !colon) {
    gid_t groups[MAX_GROUPS];
    int count = MAX_GROUPS;
    if (getgrouplist(user->pw_name, (gid_t)gid, groups, &count) < 0) count = MAX_GROUPS;
    for (int i = 0; i < count; i++) printf("%u%c", groups[i], 0);
  }
  return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv) {
  const char *action = argc > 1 ? argv[1] : "";
  umask(022);
  if (argc == 4 && strcmp(action, "read") == 0) return read_file(strtoull(argv[2], NULL, 10), argv[3]);
  if (argc == 4 && strcmp(action, "write") == 0) return write_file(strtoull(argv[2], NULL, 10), argv[3]);
  if (argc == 3 && strcmp(action, "remove") == 0) return remove_file(argv[2]);
  if ((argc == 5 || argc == 6) && strcmp(action, "prepare") == 0)
    return prepare(argv[2], argv[3], argv[4], argc == 6 && strcmp(argv[5], "again") == 0);
  if (argc == 3 && strcmp(action, "user") == 0) return prepare(NULL, "/", argv[2], 0);
  fprintf(stderr, "usage: sandbox-files read LIMIT PATH | write SIZE PATH | remove PATH | prepare WORKSPACE HOME_LINK USER [again] | user USER\n");
  return 2;
}
