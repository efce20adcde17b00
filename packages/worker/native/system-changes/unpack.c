#include "changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static int root;
static char buffer[1 << 17];

/* Folders get their times after everything in them. */
struct folder_time {
  char *name;
  struct timespec mtime;
};
static struct folder_time *times;
static size_t time_count;

/* Removes what is at a name, except mount points. */
static void remove_entry(int parent, const char *name, const char *path) {
  struct stat status;
  if (is_mount(path) || is_own(path) == IS_OWN) return;
  if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW)) {
    if (errno == ENOENT) return;
    fail(path);
  }
  if (!S_ISDIR(status.st_mode)) {
    if (unlinkat(parent, name, 0)) fail(path);
    return;
  }
  int folder = open_folder(parent, name);
  if (folder < 0) fail(path);
  struct names names = list_names(folder, path);
  for (size_t i = 0; i < names.count; i++) {
    char *child;
    if (asprintf(&child, "%s/%s", path, names.list[i]) < 0) fail("memory");
    remove_entry(folder, names.list[i], child);
    free(child);
  }
  free_names(&names);
  close(folder);
  /* A folder with a mount point stays. */
  if (unlinkat(parent, name, AT_REMOVEDIR) && errno != EBUSY && errno != ENOTEMPTY) fail(path);
}

static int leads_out(const char *name) {
  for (const char *part = name; part; part = strchr(part, '/')) {
    while (*part == '/') part++;
    if (strncmp(part, "..", 2) == 0 && (part[2] == 0 || part[2] == '/')) return 1;
  }
  return 0;
}

/* Opens the folder of a path without following links, and returns the last name. Missing folders are created. */
static const char *open_parent(const char *name, int *parent) {
  if (name[0] == 0 || name[0] == '/' || leads_out(name)) stop("%s is not a valid name in an archive.", name);
  *parent = dup(root);
  for (const char *at = name;;) {
    const char *slash = strchr(at, '/');
    if (!slash) return at;
    char *part = strndup(at, (size_t)(slash - at));
    if (!part) fail("memory");
    int next = open_folder(*parent, part);
    if (next < 0 && errno == ENOENT && mkdirat(*parent, part, 0755) == 0) next = open_folder(*parent, part);
    if (next < 0) fail(name);
    close(*parent);
    *parent = next;
    free(part);
    at = slash + 1;
  }
}

static void set_attributes(int fd, const struct tar_entry *entry) {
  const struct bytes *records = &entry->attributes;
  for (char *at = records->data; at < records->data + records->size;) {
    char *name;
    unsigned long length = strtoul(at, &name, 10);
    char *next = at + length;
    name++;
    char *value = memchr(name, '=', (size_t)(next - name));
    *value++ = 0;
    if (fsetxattr(fd, name, value, (size_t)(next - 1 - value), 0) && errno != ENOTSUP) fail(entry->name);
    at = next;
  }
}

static void set_owner(int fd, const struct tar_entry *entry) {
  if (fchown(fd, entry->uid, entry->gid) || fchmod(fd, entry->mode)) fail(entry->name);
  set_attributes(fd, entry);
}

static void set_time(int parent, const char *base, struct timespec mtime, const char *name) {
  struct timespec values[2] = {{.tv_nsec = UTIME_OMIT}, mtime};
  if (utimensat(parent, base, values, AT_SYMLINK_NOFOLLOW)) fail(name);
}

static void write_file(int file, const char *name, const char *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t written = write(file, data + done, size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(name);
    done += (size_t)written;
  }
}

static void receive(int file, const char *name, uint64_t offset, uint64_t size) {
  if (lseek(file, (off_t)offset, SEEK_SET) < 0) fail(name);
  while (size > 0) {
    size_t part = size < sizeof buffer ? (size_t)size : sizeof buffer;
    read_all(buffer, part);
    write_file(file, name, buffer, part);
    size -= part;
  }
}

static uint64_t read_line(uint64_t *read) {
  uint64_t value = 0;
  char byte;
  for (;; value = value * 10 + (uint64_t)(byte - '0')) {
    read_all(&byte, 1);
    *read += 1;
    if (byte == '\n') return value;
    if (byte < '0' || byte > '9') stop("The archive is invalid.");
  }
}

static void receive_sparse(int file, const struct tar_entry *entry) {
  uint64_t read = 0, count = read_line(&read);
  if (count > entry->size) stop("The archive is invalid.");
  struct region *regions = calloc(count + 1, sizeof *regions);
  if (!regions) fail("memory");
  for (uint64_t i = 0; i < count; i++) regions[i] = (struct region){read_line(&read), 0}, regions[i].size = read_line(&read);
  skip(padding_of(read));
  for (uint64_t i = 0; i < count; i++) receive(file, entry->name, regions[i].offset, regions[i].size);
  if (ftruncate(file, (off_t)entry->real_size)) fail(entry->name);
  free(regions);
}

static void unpack_file(int parent, const char *base, const struct tar_entry *entry) {
  int file = openat(parent, base, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail(entry->name);
  if (entry->is_sparse) receive_sparse(file, entry);
  else receive(file, entry->name, 0, entry->size);
  skip(padding_of(entry->size));
  set_owner(file, entry);
  if (close(file)) fail(entry->name);
  set_time(parent, base, entry->mtime, entry->name);
}

/* Removes the names that the list lacks, and requires those that are not in the archive. */
static void apply_list(int folder, const char *path, char *list, size_t size) {
  struct names wanted = {0}, names = list_names(folder, path);
  for (char *at = list; at < list + size && *at; at += strlen(at) + 1) {
    if (wanted.count % 64 == 0) wanted.list = realloc(wanted.list, (wanted.count + 64) * sizeof *wanted.list);
    if (!wanted.list) fail("memory");
    if (at[0] == 'N' && !has_name(&names, at + 1))
      stop("%s/%s is neither in the build nor in the image. Build the environment again.", path, at + 1);
    wanted.list[wanted.count++] = at + 1;
  }
  sort_names(&wanted);
  for (size_t i = 0; i < names.count; i++) {
    char *child;
    if (has_name(&wanted, names.list[i])) continue;
    if (asprintf(&child, "%s/%s", path, names.list[i]) < 0) fail("memory");
    remove_entry(folder, names.list[i], child);
    free(child);
  }
  free(wanted.list);
  free_names(&names);
}

static void keep_time(const struct tar_entry *entry) {
  if (time_count % 64 == 0) times = realloc(times, (time_count + 64) * sizeof *times);
  if (!times) fail("memory");
  times[time_count++] = (struct folder_time){strdup(entry->name), entry->mtime};
}

static void unpack_folder(int parent, const char *base, const char *path, const struct tar_entry *entry) {
  int is_root = strcmp(entry->name, ".") == 0, is_new = 0;
  struct stat status;
  if (!is_root) {
    int exists = fstatat(parent, base, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && !S_ISDIR(status.st_mode)) remove_entry(parent, base, path);
    is_new = !exists || !S_ISDIR(status.st_mode);
    if (is_new && mkdirat(parent, base, 0700)) fail(path);
  }
  int folder = open_folder(parent, is_root ? "." : base);
  if (folder < 0) fail(path);
  if (entry->size > MAX_TEXT) stop("A folder in the archive has too many names.");
  char *list = malloc((size_t)entry->size + 1);
  if (!list) fail("memory");
  read_all(list, (size_t)entry->size);
  list[entry->size] = 0;
  skip(padding_of(entry->size));
  apply_list(folder, is_root ? "" : path, list, (size_t)entry->size);
  free(list);
  set_owner(folder, entry);
  close(folder);
  /* The old time of a folder that exists would look as if it had been moved. */
  if (is_new) keep_time(entry);
}

/* Copies a file that cannot be linked, because one of the names is in a volume. */
static void copy_file(int folder, const char *source, int parent, const char *base, const char *name) {
  struct stat status;
  int from = openat(folder, source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (from < 0 || fstat(from, &status)) fail(name);
  int to = openat(parent, base, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (to < 0) fail(name);
  for (ssize_t size; (size = read(from, buffer, sizeof buffer)) != 0;) {
    if (size < 0) fail(name);
    write_file(to, name, buffer, (size_t)size);
  }
  struct tar_entry copy = describe(name, '0', &status);
  copy.attributes = read_attributes(from, name, "");
  set_owner(to, &copy);
  free(copy.attributes.data);
  close(from);
  if (close(to)) fail(name);
  set_time(parent, base, status.st_mtim, name);
}

static void unpack_link(int parent, const char *base, const struct tar_entry *entry) {
  int folder;
  const char *source = open_parent(entry->link, &folder);
  if (linkat(folder, source, parent, base, 0)) {
    if (errno != EXDEV) fail(entry->name);
    copy_file(folder, source, parent, base, entry->name);
  }
  close(folder);
}

static void unpack_entry(const struct tar_entry *entry) {
  int parent;
  const char *base = open_parent(entry->name, &parent);
  char *path;
  if (asprintf(&path, "/%s", entry->name) < 0) fail("memory");
  if (entry->type != 'D') remove_entry(parent, base, path);
  switch (entry->type) {
    case '0': unpack_file(parent, base, entry); break;
    case '1': unpack_link(parent, base, entry); break;
    case '2':
      if (symlinkat(entry->link, parent, base)) fail(path);
      if (fchownat(parent, base, entry->uid, entry->gid, AT_SYMLINK_NOFOLLOW)) fail(path);
      set_time(parent, base, entry->mtime, path);
      break;
    case '6':
      if (mkfifoat(parent, base, 0600) || fchownat(parent, base, entry->uid, entry->gid, 0)) fail(path);
      if (fchmodat(parent, base, entry->mode, 0)) fail(path);
      set_time(parent, base, entry->mtime, path);
      break;
    case 'D': unpack_folder(parent, base, path, entry); break;
    default: stop("%s has an unknown type in the archive.", path);
  }
  free(path);
  close(parent);
}

void unpack(int to) {
  struct tar_entry entry = {0};
  root = to;
  while (read_entry(&entry)) unpack_entry(&entry);
  while (time_count-- > 0) {
    int parent;
    const char *base = open_parent(times[time_count].name, &parent);
    set_time(parent, base, times[time_count].mtime, times[time_count].name);
    close(parent);
  }
  drain();
}
