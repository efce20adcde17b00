#include "changes.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static int64_t mark;
static char **volumes;
static char buffer[1 << 17];

/* Files that have several names, by their number. */
struct file {
  dev_t device;
  ino_t number;
  char *name;
};
static void *files;

static int compare_files(const void *a, const void *b) {
  const struct file *left = a, *right = b;
  if (left->device != right->device) return left->device < right->device ? -1 : 1;
  return left->number == right->number ? 0 : left->number < right->number ? -1 : 1;
}

/* Returns the first name of a file, or NULL if this is the first one. */
static const char *first_name(const struct stat *status, const char *name) {
  struct file *file = malloc(sizeof *file);
  if (!file) fail("memory");
  *file = (struct file){status->st_dev, status->st_ino, strdup(name)};
  struct file **found = tsearch(file, &files, compare_files);
  if (!found || !file->name) fail("memory");
  if (*found == file) return NULL;
  free(file->name);
  free(file);
  return (*found)->name;
}

static int64_t time_of(struct timespec time) { return time.tv_sec * INT64_C(1000000000) + time.tv_nsec; }

static int has_changed(const struct stat *status) { return time_of(status->st_ctim) > mark; }

/*
 * Whether the folder has other attributes or another place, but the same entries. An overlay does not move folders of the
 * image; programs copy their files instead. Its folders look as if they had moved when anything in them changes.
 */
static int is_moved(const struct stat *status) {
  return can_move_folders() && has_changed(status) && time_of(status->st_mtim) <= mark;
}

static int is_volume(const char *path) {
  for (char **volume = volumes; *volume; volume++)
    if (strcmp(*volume, path) == 0) return 1;
  return 0;
}

static int is_stored(const char *attribute) {
  return strncmp(attribute, "user.", 5) == 0 || strcmp(attribute, "security.capability") == 0 ||
         strncmp(attribute, "system.posix_acl_", 17) == 0;
}

struct bytes read_attributes(int fd, const char *path, const char *prefix) {
  static char names[1 << 16], value[1 << 16];
  struct bytes records = {0};
  ssize_t size = flistxattr(fd, names, sizeof names);
  if (size < 0 && errno != ENOTSUP) fail(path);
  for (char *name = names; size > 0 && name < names + size; name += strlen(name) + 1) {
    char key[512];
    if (!is_stored(name)) continue;
    ssize_t length = fgetxattr(fd, name, value, sizeof value);
    if (length < 0) fail(path);
    snprintf(key, sizeof key, "%s%s", prefix, name);
    append_record(&records, key, value, (size_t)length);
  }
  return records;
}

struct tar_entry describe(const char *name, char type, const struct stat *status) {
  return (struct tar_entry){.type = type,
                        .name = (char *)name,
                        .mode = status->st_mode & 07777,
                        .uid = status->st_uid,
                        .gid = status->st_gid,
                        .mtime = status->st_mtim};
}

static void copy_region(int file, const char *path, struct region region) {
  if (lseek(file, (off_t)region.offset, SEEK_SET) < 0) fail(path);
  for (uint64_t rest = region.size; rest > 0;) {
    ssize_t size = read(file, buffer, rest < sizeof buffer ? (size_t)rest : sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail(path);
    if (size == 0) stop("%s became shorter while it was read.", path);
    write_all(buffer, (size_t)size);
    rest -= (uint64_t)size;
  }
}

/* Finds the regions of a file that have data. The last one may be empty, and tells where the file ends. */
static struct region *find_regions(int file, const char *path, uint64_t end, size_t *count) {
  struct region *regions = NULL;
  *count = 0;
  for (off_t at = 0;;) {
    off_t data = lseek(file, at, SEEK_DATA);
    if (data < 0 && errno != ENXIO) fail(path);
    int is_last = data < 0 || (uint64_t)data >= end;
    off_t hole = is_last ? (off_t)end : lseek(file, data, SEEK_HOLE);
    if (hole < 0) fail(path);
    if (is_last) data = (off_t)end;
    if (*count % 64 == 0) regions = realloc(regions, (*count + 64) * sizeof *regions);
    if (!regions) fail("memory");
    regions[(*count)++] = (struct region){(uint64_t)data, (uint64_t)(hole - data)};
    if (is_last) return regions;
    at = hole;
  }
}

/* The form that GNU tar calls 1.0: the body begins with a list of the regions. */
static void pack_sparse(struct tar_entry entry, int file, const char *path, uint64_t size) {
  size_t count;
  struct region *regions = find_regions(file, path, size, &count);
  struct bytes map = {0};
  char line[64];
  static const char zeros[BLOCK];
  snprintf(line, sizeof line, "%zu\n", count);
  append_text(&map, line);
  entry.size = 0;
  for (size_t i = 0; i < count; i++) {
    snprintf(line, sizeof line, "%llu\n%llu\n", (unsigned long long)regions[i].offset,
             (unsigned long long)regions[i].size);
    append_text(&map, line);
    entry.size += regions[i].size;
  }
  append(&map, zeros, (size_t)padding_of(map.size));
  entry.size += map.size;
  entry.is_sparse = 1;
  entry.real_size = size;
  write_entry(&entry);
  write_all(map.data, map.size);
  for (size_t i = 0; i < count; i++) copy_region(file, path, regions[i]);
  write_padding(entry.size);
  free(map.data);
  free(regions);
}

static void pack_file(int parent, const char *base, const char *path, const struct stat *status) {
  struct tar_entry entry = describe(path + 1, '0', status);
  const char *first = status->st_nlink > 1 ? first_name(status, path + 1) : NULL;
  if (first) {
    entry.type = '1';
    entry.link = (char *)first;
    return write_entry(&entry);
  }
  int file = openat(parent, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) fail(path);
  uint64_t size = (uint64_t)status->st_size;
  entry.attributes = read_attributes(file, path, attribute_prefix);
  if ((uint64_t)status->st_blocks * 512 < size && size > 4096) pack_sparse(entry, file, path, size);
  else {
    entry.size = size;
    write_entry(&entry);
    copy_region(file, path, (struct region){0, size});
    write_padding(size);
  }
  free(entry.attributes.data);
  close(file);
}

static void pack_link(int parent, const char *base, const char *path, const struct stat *status) {
  char target[PATH_MAX];
  struct tar_entry entry = describe(path + 1, '2', status);
  ssize_t size = readlinkat(parent, base, target, sizeof target - 1);
  if (size < 0) fail(path);
  target[size] = 0;
  entry.link = target;
  write_entry(&entry);
}

/* Neither devices nor sockets are stored. */
static int is_storable(mode_t mode) { return S_ISREG(mode) || S_ISLNK(mode) || S_ISDIR(mode) || S_ISFIFO(mode); }

static int is_skipped(const char *path, const struct stat *status) {
  int is_home_link = is_own(path) == IS_HOME && S_ISLNK(status->st_mode);
  return is_own(path) == IS_OWN || is_home_link || S_ISSOCK(status->st_mode);
}

static void write_folder(int folder, const char *path, const struct stat *status, const struct bytes *list) {
  struct tar_entry entry = describe(path[0] ? path + 1 : ".", 'D', status);
  entry.attributes = read_attributes(folder, path, attribute_prefix);
  entry.size = list->size;
  write_entry(&entry);
  write_all(list->data, list->size);
  write_padding(list->size);
  free(entry.attributes.data);
}

/* `path` is empty for the root. `all`: all files of the folder are stored. */
static void pack_folder(int folder, const char *path, int all, int depth) {
  struct names names = list_names(folder, path[0] ? path : "/");
  struct stat status, *states = calloc(names.count + 1, sizeof *states);
  struct bytes list = {0};
  char *child;
  if (depth > MAX_DEPTH) stop("%s is nested too deep.", path);
  if (fstat(folder, &status) || !states) fail(path);
  int is_listed = all || has_changed(&status);
  for (size_t i = 0; i < names.count; i++) {
    if (asprintf(&child, "%s/%s", path, names.list[i]) < 0) fail("memory");
    if (fstatat(folder, names.list[i], &states[i], AT_SYMLINK_NOFOLLOW)) fail(child);
    mode_t mode = states[i].st_mode;
    if (is_skipped(child, &states[i])) states[i].st_mode = 0;
    else if (is_mount(child)) states[i].st_mode = is_volume(child) ? mode : 0;
    else if (is_listed && (!all || is_storable(mode))) {
      int is_packed = is_storable(mode) && (all || has_changed(&states[i]));
      append_text(&list, is_packed ? "Y" : "N");
      append(&list, names.list[i], strlen(names.list[i]) + 1);
    }
    free(child);
  }
  append(&list, "", 1);
  if (list.size > MAX_TEXT) stop("%s has too many files for a build.", path[0] ? path : "/");
  if (is_listed) write_folder(folder, path, &status, &list);
  free(list.data);
  for (size_t i = 0; i < names.count; i++) {
    if (asprintf(&child, "%s/%s", path, names.list[i]) < 0) fail("memory");
    mode_t mode = states[i].st_mode;
    if (S_ISDIR(mode)) {
      int next = open_folder(folder, names.list[i]);
      if (next < 0) fail(child);
      pack_folder(next, child, all || is_volume(child) || is_moved(&states[i]), depth + 1);
      close(next);
    } else if (mode && is_storable(mode) && (all || has_changed(&states[i]))) {
      struct tar_entry entry = describe(child + 1, '6', &states[i]);
      if (S_ISREG(mode)) pack_file(folder, names.list[i], child, &states[i]);
      else if (S_ISLNK(mode)) pack_link(folder, names.list[i], child, &states[i]);
      else write_entry(&entry);
    }
    free(child);
  }
  free_names(&names);
  free(states);
}

void pack(int folder, const char *path, int64_t changed_after, char **of_volumes, int is_complete) {
  mark = changed_after;
  volumes = of_volumes;
  pack_folder(folder, path, is_complete, 0);
}
