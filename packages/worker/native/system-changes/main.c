/*
 * Packs and unpacks the changes to the system of an image, inside the container that has it. It runs as root there, after all
 * commands have ended, and needs no other program, so that a hostile image can neither prevent nor forge it.
 *
 *     system-changes mark               prints "TIME OFFSET": a change time that all later changes exceed, and what the clock
 *                                       differs from the time since the start of the machine
 *     system-changes pack TIME OFFSET [VOLUME...]
 *                                       writes an archive of what has changed after this time, and of all files of the volumes
 *     system-changes unpack [FILE]      reads such an archive from the file, or from stdin
 *     system-changes fill FROM TO [FROM TO...]
 *                                       copies the content of each folder that exists
 *     system-changes pack-folder FOLDER
 *                                       writes an archive of the folder, which is empty if the folder does not exist
 *     system-changes unpack-folder FOLDER
 *                                       reads such an archive from stdin
 *
 * - A file has changed if its change time (ctime) is later. Only the kernel can set it. Files of the image were unpacked
 *   before the container started. If the clock of the machine was set back meanwhile, the times are useless, which is an error.
 * - A folder has changed if an entry was added or removed. Its entry in the archive has the type D of GNU tar: the list of its
 *   names, with N for those that are not in the archive. Other names are removed when it is unpacked.
 * - The archive is a tar archive with names relative to the root. Links are never followed, so that an archive changes only
 *   what it names.
 */
#include "changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int64_t second = 1000000000;
/* How far the clock may have been set back. Corrections of a running clock are smaller. */
static const int64_t max_set_back = 500000000;

static int64_t read_clock(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now)) fail("read the clock");
  return now.tv_sec * second + now.tv_nsec;
}

static int64_t clock_offset(void) { return read_clock(CLOCK_REALTIME) - read_clock(CLOCK_BOOTTIME); }

/* The kernel takes change times from a clock that advances every few milliseconds. */
static int mark(void) {
  int64_t time = read_clock(CLOCK_REALTIME);
  while (read_clock(CLOCK_REALTIME_COARSE) <= time) nanosleep(&(struct timespec){0, 1000000}, NULL);
  printf("%lld %lld\n", (long long)time, (long long)clock_offset());
  return fflush(stdout) ? 1 : 0;
}

static int open_root(const char *path) {
  int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) fail(path);
  return root;
}

static int pack_system(int64_t time, int64_t offset, char **volumes) {
  if (clock_offset() < offset - max_set_back)
    stop("The clock of the node was set back, so the changes to the system are unknown. Build again.");
  for (char **volume = volumes; *volume; volume++) {
    char *real = realpath(*volume, NULL);
    if (!real) fail(*volume);
    *volume = real;
  }
  pack(open_root("/"), "", time, volumes, 0);
  write_end();
  return 0;
}

/* Returns -1 if the folder does not exist. */
static int open_optional(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) fail(path);
  return folder;
}

static int pack_folder(int folder) {
  static char *no_volumes[] = {NULL};
  if (folder >= 0) pack(folder, "", 0, no_volumes, 1);
  write_end();
  return 0;
}

static int fill(const char *from, const char *to) {
  int ends[2], status, source = open_optional(from);
  if (source < 0) return 0;
  if (pipe(ends)) fail("create a pipe");
  pid_t child = fork();
  if (child < 0) fail("start a process");
  if (dup2(ends[child == 0 ? 1 : 0], child == 0 ? 1 : 0) < 0) fail("connect a process");
  close(ends[0]);
  close(ends[1]);
  if (child == 0) return pack_folder(source);
  unpack(open_root(to));
  if (waitpid(child, &status, 0) < 0) fail("wait for a process");
  return status == 0 ? 0 : 1;
}

/* Each copy has a process of its own, because it uses the standard streams. */
static int fill_all(char **paths) {
  for (; *paths; paths += 2) {
    int status;
    pid_t child = fork();
    if (child < 0) fail("start a process");
    if (child == 0) return fill(paths[0], paths[1]);
    if (waitpid(child, &status, 0) < 0) fail("wait for a process");
    if (status != 0) return 1;
  }
  return 0;
}

static int unpack_file(const char *path) {
  int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) fail(path);
  if (dup2(file, 0) < 0) fail(path);
  close(file);
  unpack(open_root("/"));
  return 0;
}

/* Each level of folders takes a file. */
static void raise_file_limit(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files)) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv) {
  const char *action = argc > 1 ? argv[1] : "";
  umask(022);
  raise_file_limit();
  if (argc == 2 && strcmp(action, "mark") == 0) return mark();
  if (argc >= 4 && argc % 2 == 0 && strcmp(action, "fill") == 0) return fill_all(argv + 2);
  if (argc == 3 && strcmp(action, "pack-folder") == 0) return pack_folder(open_optional(argv[2]));
  if (argc == 3 && strcmp(action, "unpack-folder") == 0) return unpack(open_root(argv[2])), 0;
  read_mounts();
  if (argc >= 4 && strcmp(action, "pack") == 0)
    return pack_system(strtoll(argv[2], NULL, 10), strtoll(argv[3], NULL, 10), argv + 4);
  if (argc == 2 && strcmp(action, "unpack") == 0) return unpack(open_root("/")), 0;
  if (argc == 3 && strcmp(action, "unpack") == 0) return unpack_file(argv[2]);
  fprintf(stderr, "usage: system-changes mark | pack TIME OFFSET [VOLUME...] | unpack [FILE] | fill FROM TO [FROM TO...]"
                  " | pack-folder FOLDER | unpack-folder FOLDER\n");
  return 2;
}
