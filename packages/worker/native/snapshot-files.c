/*
 * Reads the workspace and the home of a sandbox for snapshots (see src/sandboxes/files/archive.ts). It runs inside the sandbox,
 * as one process, because each further process takes longer than reading a few files. The files are hostile, so folders are opened one name at a time and links are never followed.
 *
 *     snapshot-files pack OWNERS BASE (MERGED UPPER LOWER){1,2}
 *         prints a snapshot of the workspace and, if there is a second group, of the home. OWNERS is "keep" or "drop". With
 *         a base, the snapshot contains the difference between the layers LOWER and MERGED; otherwise BASE is empty.
 *     snapshot-files fingerprint PATH...
 *         prints a number that differs after every change below these folders, "stable" unless the newest change is so
 *         recent that a further change could get the same time, and the number of entries
 *     snapshot-files idle
 *         exits with 0 if no process of a command runs
 *     snapshot-files unwrap
 *         copies a tar archive and replaces each member with a part of the home's archive by this part
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 512, MAX_PART = 1 << 20 };

/* GNU tar skips the content of a volume header, so workers that know no homes in snapshots ignore these members. */
enum { VOLUME_HEADER = 'V' };
static const char part_name[] = "outrider-home";
/* The folder of the home in its archive. All names in the archive of the workspace start with a dot. */
static const char home_option[] = "--transform=s,^[.],outrider-home,S";
/* The home as the worker's scripts see it. */
static const char home_prefix[] = "/home/sandbox/";

static void fail(const char *action) {
  fprintf(stderr, "%s: %s\n", action, strerror(errno));
  exit(1);
}

static void write_all(int to, const char *data, size_t size) {
  while (size > 0) {
    ssize_t written = write(to, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    data += written, size -= (size_t)written;
  }
}

/* Returns less than `size` only at the end. */
static size_t read_all(int from, char *data, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = read(from, data + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    if (got == 0) break;
    done += (size_t)got;
  }
  return done;
}

struct buffer {
  char *data;
  size_t size, capacity;
};

static void append(struct buffer *buffer, const char *text, size_t size) {
  if (buffer->capacity - buffer->size < size) {
    buffer->capacity = 2 * buffer->capacity + size + 4096;
    buffer->data = realloc(buffer->data, buffer->capacity);
    if (!buffer->data) fail("allocate memory");
  }
  memcpy(buffer->data + buffer->size, text, size);
  buffer->size += size;
}

static void append_name(struct buffer *buffer, const char *prefix, const char *name) {
  append(buffer, prefix, strlen(prefix));
  append(buffer, name, strlen(name) + 1);
}

/* One of the two folders of a snapshot. A layer that cannot be opened is -1. */
struct area {
  const char *prefix;
  int merged, upper, lower;
  /* The names of its changed files. */
  struct buffer changed;
};

/* The folders that exist in both layers, and the deleted paths. */
static struct buffer both, deleted;

static int open_folder(int parent, const char *name) {
  return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Opens an absolute path without following links. */
static int open_path(const char *path) {
  char name[NAME_MAX + 1];
  int folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail("open /");
  for (path += strspn(path, "/"); *path && folder >= 0; path += strspn(path, "/")) {
    size_t length = strcspn(path, "/");
    if (length > NAME_MAX) return -1;
    memcpy(name, path, length);
    name[length] = 0;
    path += length;
    int is_last = path[strspn(path, "/")] == 0;
    int next = is_last ? open_folder(folder, name)
                       : openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(folder);
    folder = next;
  }
  return folder;
}

/* Each level of folders takes several files. */
static void raise_file_limit(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files)) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

static DIR *list_folder(int folder) {
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = copy < 0 ? NULL : fdopendir(copy);
  if (!entries && copy >= 0) fail("list a folder");
  return entries;
}

static int is_dots(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Adds the entries of a lower folder that are missing above it, or that have another type there. */
static void find_deleted(const struct area *area, int lower, int merged, const char *path) {
  DIR *entries = list_folder(lower);
  if (!entries) return;
  for (struct dirent *entry; (errno = 0, entry = readdir(entries));) {
    struct stat below, above;
    if (is_dots(entry->d_name) || fstatat(lower, entry->d_name, &below, AT_SYMLINK_NOFOLLOW)) continue;
    int is_missing = fstatat(merged, entry->d_name, &above, AT_SYMLINK_NOFOLLOW) != 0;
    if (is_missing && errno != ENOENT) continue;
    if (!is_missing && S_ISDIR(below.st_mode) == S_ISDIR(above.st_mode)) continue;
    append(&deleted, area->prefix, strlen(area->prefix));
    append(&deleted, path, strlen(path));
    append_name(&deleted, "/", entry->d_name);
  }
  if (errno) fail("list a folder");
  closedir(entries);
}

/* `path` has PATH_MAX bytes. `lower` and `merged` are -1 unless all folders down to this one are in both layers. */
static void compare(struct area *area, int upper, int lower, int merged, char *path, size_t length) {
  if (lower >= 0 && merged >= 0) {
    append_name(&both, area->prefix, path);
    find_deleted(area, lower, merged, path);
  }
  DIR *entries = list_folder(upper);
  if (!entries) return; /* an unreadable folder */
  for (struct dirent *entry; (errno = 0, entry = readdir(entries));) {
    const char *name = entry->d_name;
    size_t size = strlen(name);
    struct stat status;
    if (is_dots(name) || fstatat(upper, name, &status, AT_SYMLINK_NOFOLLOW)) continue;
    if (S_ISCHR(status.st_mode)) continue; /* hides a file of the base */
    if (length + 1 + size >= PATH_MAX) {
      fprintf(stderr, "skipped a path that is too long\n");
      continue;
    }
    path[length] = '/';
    memcpy(path + length + 1, name, size + 1);
    append_name(&area->changed, "", path);
    if (S_ISDIR(status.st_mode)) {
      int next = open_folder(upper, name);
      int next_lower = lower < 0 ? -1 : open_folder(lower, name);
      /* A folder that cannot be entered must not be treated as empty. */
      int next_merged = next_lower < 0 || faccessat(merged, name, R_OK | X_OK, 0) ? -1 : open_folder(merged, name);
      if ((next < 0 || (next_lower >= 0 && next_merged < 0)) && (errno == EMFILE || errno == ENFILE)) fail("open a folder");
      if (next >= 0) compare(area, next, next_merged < 0 ? -1 : next_lower, next_merged, path, length + 1 + size);
      if (next >= 0) close(next);
      if (next_lower >= 0) close(next_lower);
      if (next_merged >= 0) close(next_merged);
    }
    path[length] = 0;
  }
  if (errno) fail("list a folder");
  closedir(entries);
}

static void make_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC)) fail("create a pipe");
}

static pid_t start(char *const argv[], int in, int out) {
  pid_t child = fork();
  if (child < 0) fail("start a process");
  if (child > 0) return child;
  if ((in != 0 && dup2(in, 0) < 0) || (out != 1 && dup2(out, 1) < 0)) fail("connect a process");
  execvp(argv[0], argv);
  fail(argv[0]);
  return -1;
}

/* tar's exit code 1 means that a file changed while it was being read, which is accepted. */
static void require_end(pid_t child, int max_code) {
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail("wait for a process");
  if (!WIFEXITED(status) || WEXITSTATUS(status) > max_code) exit(1);
}

/*
 * Starts tar for one area, with its output to `out`. Sparse files stay sparse, so a file that claims to be a terabyte takes
 * up no space. Unreadable files are skipped with a warning, because an incomplete snapshot is better than none.
 */
static pid_t start_tar(struct area *area, int keep_owners, int is_difference, int out) {
  char folder[64];
  const char *argv[24];
  int count = 0, names[2] = {-1, -1};
  snprintf(folder, sizeof folder, "/proc/self/fd/%d", area->merged);
  if (fcntl(area->merged, F_SETFD, 0)) fail("open a folder");
  argv[count++] = "tar";
  argv[count++] = "-C", argv[count++] = folder;
  argv[count++] = "--format=pax", argv[count++] = "--pax-option=delete=atime,delete=ctime";
  argv[count++] = "--sparse", argv[count++] = "--numeric-owner", argv[count++] = "--ignore-failed-read";
  if (!keep_owners) argv[count++] = "--owner=0", argv[count++] = "--group=0";
  if (area->prefix[0]) argv[count++] = home_option;
  if (is_difference) {
    argv[count++] = "--no-recursion", argv[count++] = "--null", argv[count++] = "--verbatim-files-from";
    argv[count++] = "-T", argv[count++] = "-", argv[count++] = "-cf", argv[count++] = "-";
    make_pipe(names);
  } else {
    argv[count++] = "--sort=name", argv[count++] = "-cf", argv[count++] = "-", argv[count++] = ".";
  }
  argv[count] = NULL;
  if (is_difference) {
    pid_t writer = fork();
    if (writer < 0) fail("start a process");
    if (writer == 0) {
      close(names[0]);
      write_all(names[1], area->changed.data, area->changed.size);
      _exit(0);
    }
    close(names[1]);
  }
  pid_t tar = start((char *const *)argv, is_difference ? names[0] : 0, out);
  if (is_difference) close(names[0]);
  return tar;
}

static void write_part(int to, char *data, size_t size) {
  char header[BLOCK] = {0};
  unsigned sum = 0;
  memcpy(header, part_name, sizeof part_name);
  for (int field = 100; field < 124; field += 8) memcpy(header + field, "0000000", 8);
  snprintf(header + 124, 12, "%011zo", size);
  memcpy(header + 136, "00000000000", 12);
  header[156] = VOLUME_HEADER;
  memcpy(header + 257, "ustar\00000", 8);
  memset(header + 148, ' ', 8);
  for (int i = 0; i < BLOCK; i++) sum += (unsigned char)header[i];
  snprintf(header + 148, 8, "%06o", sum);
  write_all(to, header, sizeof header);
  size_t padded = (size + BLOCK - 1) / BLOCK * BLOCK;
  memset(data + size, 0, padded - size);
  write_all(to, data, padded);
}

/* The upper folder itself always exists, or is created with the mode of the lower one. */
static int is_changed(const struct area *area) {
  struct stat above, below;
  if (area->upper < 0) return 0;
  if (area->changed.size > sizeof "." || area->lower < 0) return 1;
  return fstat(area->upper, &above) || fstat(area->lower, &below) || above.st_mode != below.st_mode;
}

/* Returns whether a home without a base is as the sandbox has created it. */
static int is_new(int home) {
  struct stat status;
  DIR *entries = list_folder(home);
  int count = 0;
  if (!entries || fstat(home, &status)) return 0;
  while (count < 3 && readdir(entries)) count++;
  closedir(entries);
  return count == 2 && (status.st_mode & 07777) == 0700;
}

static int pack(int keep_owners, const char *base, int groups, char **paths) {
  static char part[MAX_PART];
  static struct area areas[2] = {{.prefix = ""}, {.prefix = home_prefix}};
  int compressed[2], archive[2];
  raise_file_limit();
  for (int i = 0; i < groups; i++) {
    struct area *area = &areas[i];
    char path[PATH_MAX] = ".";
    area->merged = open_path(paths[3 * i]);
    if (area->merged < 0 && i == 0) fail("open the workspace");
    if (area->merged < 0) fprintf(stderr, "skipped the home\n");
    if (area->merged < 0 || !base[0]) continue;
    area->upper = open_path(paths[3 * i + 1]);
    area->lower = open_path(paths[3 * i + 2]);
    if (area->upper < 0 && i == 0) fail("open the changes of the workspace");
    if (area->upper < 0) continue;
    append_name(&area->changed, "", path);
    compare(area, area->upper, area->lower, area->merged, path, 1);
  }
  make_pipe(compressed);
  pid_t gzip = start((char *[]){"gzip", "-1", NULL}, compressed[0], 1);
  close(compressed[0]);
  if (base[0]) {
    dprintf(compressed[1], "outrider-difference %s %zu %zu\n", base, both.size, deleted.size);
    write_all(compressed[1], both.data, both.size);
    write_all(compressed[1], deleted.data, deleted.size);
  }
  if (groups > 1 && areas[1].merged >= 0 && (base[0] ? is_changed(&areas[1]) : !is_new(areas[1].merged))) {
    make_pipe(archive);
    pid_t tar = start_tar(&areas[1], keep_owners, base[0] != 0, archive[1]);
    close(archive[1]);
    for (size_t size; (size = read_all(archive[0], part, sizeof part)) > 0;) write_part(compressed[1], part, size);
    require_end(tar, 1);
  }
  require_end(start_tar(&areas[0], keep_owners, base[0] != 0, compressed[1]), 1);
  close(compressed[1]);
  require_end(gzip, 0);
  return 0;
}

/* The sum of the hashes of all entries, which does not depend on their order. */
static uint64_t fingerprint_sum[2];
static int64_t newest_change;
static size_t entry_count;

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
  for (const unsigned char *byte = data; size > 0; byte++, size--) hash = (hash ^ *byte) * 0x100000001b3;
  return hash;
}

/* The change time of a file (ctime) cannot be set, and changes with its content, its attributes and its names. */
static void add_entry(const char *path, const struct stat *status) {
  int64_t changed_at = status->st_ctim.tv_sec * 1000000000LL + status->st_ctim.tv_nsec;
  int64_t fields[] = {
      status->st_mode, (int64_t)status->st_ino, status->st_size, status->st_uid, status->st_gid, changed_at,
      status->st_mtim.tv_sec * 1000000000LL + status->st_mtim.tv_nsec,
  };
  for (uint64_t i = 0; i < 2; i++) {
    uint64_t hash = hash_bytes(0xcbf29ce484222325 + i, path, strlen(path) + 1);
    fingerprint_sum[i] += hash_bytes(hash, fields, sizeof fields);
  }
  if (changed_at > newest_change) newest_change = changed_at;
  entry_count++;
}

/* What cannot be read could change unnoticed, so it is an error. `path` has PATH_MAX bytes. */
static void add_folder(int folder, char *path, size_t length) {
  DIR *entries = list_folder(folder);
  if (!entries) fail("list a folder");
  for (struct dirent *entry; (errno = 0, entry = readdir(entries));) {
    size_t size = strlen(entry->d_name);
    struct stat status;
    if (is_dots(entry->d_name)) continue;
    if (length + 1 + size >= PATH_MAX) errno = ENAMETOOLONG, fail("list a folder");
    path[length] = '/';
    memcpy(path + length + 1, entry->d_name, size + 1);
    if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW)) fail("read a file");
    add_entry(path, &status);
    if (S_ISDIR(status.st_mode)) {
      int next = open_folder(folder, entry->d_name);
      if (next < 0) fail("open a folder");
      add_folder(next, path, length + 1 + size);
      close(next);
    }
  }
  if (errno) fail("list a folder");
  closedir(entries);
}

/*
 * The kernel takes change times from a clock that advances every few milliseconds. Waits until it has passed the newest
 * one, so that every later change gets another time.
 */
static int wait_for_clock(void) {
  for (int tries = 0; tries < 50; tries++) {
    struct timespec now, pause = {0, 1000000};
    if (clock_gettime(CLOCK_REALTIME_COARSE, &now)) fail("read the clock");
    if (now.tv_sec * 1000000000LL + now.tv_nsec > newest_change) return 1;
    nanosleep(&pause, NULL);
  }
  return 0;
}

static int fingerprint(int count, char **paths) {
  raise_file_limit();
  for (int i = 0; i < count; i++) {
    char path[PATH_MAX];
    struct stat status;
    int length = snprintf(path, sizeof path, "%d", i);
    int folder = open_path(paths[i]);
    if (folder < 0 && errno == ENOENT) continue; /* a layer has only folders that have changed */
    if (folder < 0 || fstat(folder, &status)) fail("open a folder");
    add_entry(path, &status);
    add_folder(folder, path, (size_t)length);
    close(folder);
  }
  int is_stable = wait_for_clock();
  printf("%016llx%016llx %s %zu\n", (unsigned long long)fingerprint_sum[0], (unsigned long long)fingerprint_sum[1],
         is_stable ? "stable" : "recent", entry_count);
  return fflush(stdout) ? 1 : 0;
}

/*
 * The processes with which init supervises commands end shortly after them. Ended processes have no memory. In a pod, the
 * worker's own connection is a process without a parent, which no command can have.
 */
static int is_running(const char *pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t size = read(file, line, sizeof line - 1);
  close(file);
  if (size <= 0) return 0;
  line[size] = 0;
  const char *name = strchr(line, '('), *end = strrchr(line, ')');
  if (!name || !end || strncmp(name, "(outrider-sup)", (size_t)(end - name) + 1) == 0) return 0;
  int is_connection = strlen(end) > 6 && strncmp(end + 3, " 0 ", 3) == 0;
  return !is_connection && strncmp(end, ") Z", 3) != 0 && strncmp(end, ") X", 3) != 0;
}

static int is_idle(void) {
  DIR *entries = opendir("/proc");
  if (!entries) fail("open /proc");
  for (struct dirent *entry; (errno = 0, entry = readdir(entries));) {
    char *end;
    long pid = strtol(entry->d_name, &end, 10);
    if (*end == 0 && pid > 1 && pid != getpid() && is_running(entry->d_name)) return 0;
  }
  return 1;
}

static int unwrap(void) {
  static char data[MAX_PART];
  size_t size;
  while ((size = read_all(0, data, BLOCK)) == BLOCK && data[156] == VOLUME_HEADER &&
         strncmp(data, part_name, 100) == 0) {
    data[135] = 0;
    size_t part = strtoul(data + 124, NULL, 8), padded = (part + BLOCK - 1) / BLOCK * BLOCK;
    if (part > MAX_PART || read_all(0, data, padded) != padded) {
      fprintf(stderr, "the home in the snapshot is incomplete\n");
      return 1;
    }
    write_all(1, data, part);
  }
  for (; size > 0; size = read_all(0, data, sizeof data)) write_all(1, data, size);
  return 0;
}

int main(int argc, char **argv) {
  const char *action = argc > 1 ? argv[1] : "";
  if ((argc == 7 || argc == 10) && strcmp(action, "pack") == 0)
    return pack(strcmp(argv[2], "keep") == 0, argv[3], (argc - 4) / 3, argv + 4);
  if (argc == 2 && strcmp(action, "unwrap") == 0) return unwrap();
  if (argc > 2 && strcmp(action, "fingerprint") == 0) return fingerprint(argc - 2, argv + 2);
  if (argc == 2 && strcmp(action, "idle") == 0) return is_idle() ? 0 : 1;
  fprintf(stderr, "usage: snapshot-files pack OWNERS BASE (MERGED UPPER LOWER){1,2} | fingerprint PATH... | idle | unwrap\n");
  return 2;
}
