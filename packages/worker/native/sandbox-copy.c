/*
 * Copies files into and out of a sandbox as tar archives, for the instructions of a Dockerfile. It runs as root of the image
 * inside of the sandbox and resolves paths as any program there does, so a hostile link leads to no other place than a
 * command could reach. It needs no other program, so it works in every image.
 *
 *     sandbox-copy pack PATTERN...      writes an archive to stdout. A folder becomes "./" with its content, a file its name
 *     sandbox-copy unpack TARGET OWNER MODE
 *                                       reads an archive from stdin. The target is a folder if it ends with "/", if it exists as
 *                                       one, or if the archive begins with "./"; otherwise it is the name of the only file.
 *                                       OWNER is "NAME|UID[:NAME|GID]", or "-" for the archive's; MODE is octal, or "-"
 *     sandbox-copy folder PATH OWNER MODE
 *                                       creates a folder with its parents, unless it exists
 *     sandbox-copy set PATH OWNER MODE  changes the owner and mode of a file
 *     sandbox-copy vacant PATH          fails if the path exists and is not an empty folder
 *     sandbox-copy clear PATH           removes a file, or the content of a folder
 *
 * Exit codes: 44 if a pattern matches nothing, 1 for other errors, with a message.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 512, NOT_FOUND = 44, MAX_ACCOUNT_BYTES = 4 << 20, MAX_NAME = 1 << 16, MAX_DEPTH = 500 };

struct header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[8];
  char uname[32], gname[32], major[8], minor[8], prefix[155], rest[12];
};

static void stop(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\n', stderr);
  exit(1);
}

static void fail(const char *path) { stop("%s: %s", path, strerror(errno)); }

/* Owners and modes */

static uid_t owner_uid = (uid_t)-1;
static gid_t owner_gid = (gid_t)-1;
static int fixed_mode = -1;

static int parse_id(const char *text, unsigned *id) {
  char *end;
  if (text[0] < '0' || text[0] > '9') return 0;
  unsigned long value = strtoul(text, &end, 10);
  *id = (unsigned)value;
  return *end == 0 && value <= 65535;
}

/* The image's files of users and groups are hostile: a fifo would never end, and a huge line would fill the memory. */
static void check_account_file(const char *path) {
  struct stat status;
  if (stat(path, &status)) return;
  if (!S_ISREG(status.st_mode) || status.st_size > MAX_ACCOUNT_BYTES) stop("%s is not a file of at most 4 MiB", path);
}

static void parse_owner(const char *text) {
  char name[256];
  unsigned id;
  if (strcmp(text, "-") == 0) return;
  const char *colon = strchr(text, ':');
  size_t length = colon ? (size_t)(colon - text) : strlen(text);
  if (length >= sizeof name) stop("The name of the user is too long.");
  memcpy(name, text, length);
  name[length] = 0;
  check_account_file("/etc/passwd");
  check_account_file("/etc/group");
  struct passwd *user = NULL;
  if (parse_id(name, &id)) {
    owner_uid = id;
    /* As in Docker, a number without a group means the group with the same number. */
    owner_gid = id;
  } else {
    user = getpwnam(name);
    if (!user) stop("There is no user %s in /etc/passwd of the image.", name);
    owner_uid = user->pw_uid;
    owner_gid = user->pw_gid;
  }
  if (!colon) return;
  if (parse_id(colon + 1, &id)) owner_gid = id;
  else {
    struct group *group = getgrnam(colon + 1);
    if (!group) stop("There is no group %s in /etc/group of the image.", colon + 1);
    owner_gid = group->gr_gid;
  }
}

static void parse_mode(const char *text) {
  char *end;
  if (strcmp(text, "-") == 0) return;
  unsigned long mode = strtoul(text, &end, 8);
  if (text[0] == 0 || *end || mode > 07777) stop("The mode %s is not an octal number such as 755.", text);
  fixed_mode = (int)mode;
}

static uid_t or_root(uid_t id) { return id == (uid_t)-1 ? 0 : id; }

static void make_folders(const char *path) {
  char part[PATH_MAX];
  struct stat status;
  if (stat(path, &status) == 0) {
    if (!S_ISDIR(status.st_mode)) errno = ENOTDIR, fail(path);
    return;
  }
  if (strlen(path) >= PATH_MAX) errno = ENAMETOOLONG, fail(path);
  strcpy(part, path);
  size_t length = strlen(part);
  while (length > 1 && part[length - 1] == '/') part[--length] = 0;
  char *slash = strrchr(part, '/');
  if (slash && slash != part) {
    *slash = 0;
    make_folders(part);
    *slash = '/';
  }
  if (mkdir(part, 0755)) {
    if (errno == EEXIST) return;
    fail(part);
  }
  if (lchown(part, or_root(owner_uid), or_root(owner_gid))) fail(part);
}

/* Packing */

static char buffer[1 << 17];

static void write_all(const void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t written = write(1, (const char *)data + done, size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    done += (size_t)written;
  }
}

static void write_padding(unsigned long long size) {
  static const char zeros[BLOCK];
  if (size % BLOCK) write_all(zeros, BLOCK - size % BLOCK);
}

/* A number that does not fit is stored in binary, as GNU tar does. */
static void set_number(char *field, size_t width, unsigned long long value) {
  if (value >> (3 * (width - 1))) {
    for (size_t i = width; i-- > 1; value >>= 8) field[i] = (char)(value & 255);
    field[0] = (char)128;
  } else snprintf(field, width, "%0*llo", (int)width - 1, value);
}

static void write_header(const char *name, const char *link, char type, const struct stat *status, unsigned long long size) {
  struct header header;
  for (int is_link = 0; is_link < 2; is_link++) {
    const char *text = is_link ? link : name;
    size_t length = strlen(text) + 1;
    if (length > sizeof header.name && type != 'L' && type != 'K') {
      write_header("name", "", is_link ? 'K' : 'L', status, length);
      write_all(text, length);
      write_padding(length);
    }
  }
  memset(&header, 0, sizeof header);
  strncpy(header.name, name, sizeof header.name - 1);
  strncpy(header.link, link, sizeof header.link - 1);
  set_number(header.mode, sizeof header.mode, status->st_mode & 07777);
  set_number(header.uid, sizeof header.uid, status->st_uid);
  set_number(header.gid, sizeof header.gid, status->st_gid);
  set_number(header.size, sizeof header.size, size);
  set_number(header.mtime, sizeof header.mtime, status->st_mtime < 0 ? 0 : (unsigned long long)status->st_mtime);
  header.type = type;
  memcpy(header.magic, "ustar  ", 8);
  memset(header.checksum, ' ', sizeof header.checksum);
  unsigned sum = 0;
  for (size_t i = 0; i < sizeof header; i++) sum += ((unsigned char *)&header)[i];
  snprintf(header.checksum, sizeof header.checksum, "%06o", sum);
  write_all(&header, sizeof header);
}

static void pack_file(const char *path, const char *name, const struct stat *status) {
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail(path);
  unsigned long long rest = (unsigned long long)status->st_size;
  write_header(name, "", '0', status, rest);
  while (rest > 0) {
    ssize_t size = read(file, buffer, rest < sizeof buffer ? (size_t)rest : sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail(path);
    if (size == 0) stop("%s became shorter while it was read.", path);
    write_all(buffer, (size_t)size);
    rest -= (unsigned long long)size;
  }
  write_padding((unsigned long long)status->st_size);
  close(file);
}

/* The files that the sandbox adds to the image. */
static const char *hidden[] = {"/etc/hosts", "/etc/outrider-connect", "/opt/outrider"};
static dev_t root_device;

static int is_hidden(const char *path, const struct stat *status) {
  while (path[0] == '/' && path[1] == '/') path++;
  for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
    if (strcmp(path, hidden[i]) == 0) return 1;
  return S_ISDIR(status->st_mode) && status->st_dev != root_device;
}

static void pack_entry(const char *path, const char *name, int depth);

static void pack_folder(const char *path, const char *name, int depth) {
  if (depth > MAX_DEPTH) stop("%s is nested too deep.", path);
  DIR *folder = opendir(path);
  if (!folder) fail(path);
  struct dirent *entry;
  while ((errno = 0, entry = readdir(folder))) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char *child, *child_name;
    if (asprintf(&child, "%s/%s", path, entry->d_name) < 0) fail(path);
    if (asprintf(&child_name, "%s%s", name, entry->d_name) < 0) fail(path);
    pack_entry(child, child_name, depth + 1);
    free(child);
    free(child_name);
  }
  if (errno) fail(path);
  closedir(folder);
}

static void pack_entry(const char *path, const char *name, int depth) {
  struct stat status;
  if (lstat(path, &status)) fail(path);
  if (is_hidden(path, &status)) return;
  if (S_ISREG(status.st_mode)) pack_file(path, name, &status);
  else if (S_ISLNK(status.st_mode)) {
    char link[PATH_MAX];
    ssize_t size = readlink(path, link, sizeof link - 1);
    if (size < 0) fail(path);
    link[size] = 0;
    write_header(name, link, '2', &status, 0);
  } else if (S_ISDIR(status.st_mode)) {
    char *folder;
    if (asprintf(&folder, "%s/", name) < 0) fail(path);
    write_header(folder, "", '5', &status, 0);
    pack_folder(path, folder, depth);
    free(folder);
  }
  /* Devices, pipes and sockets are left out. */
}

static void pack_source(const char *path) {
  struct stat status;
  if (stat(path, &status)) fail(path);
  if (S_ISDIR(status.st_mode)) {
    write_header("./", "", '5', &status, 0);
    pack_folder(path, "./", 0);
  } else if (S_ISREG(status.st_mode)) {
    const char *slash = strrchr(path, '/');
    pack_file(path, slash ? slash + 1 : path, &status);
  } else stop("%s is neither a file nor a folder.", path);
}

static int pack(int count, char **patterns) {
  static const char end[2 * BLOCK];
  struct stat status;
  if (stat("/", &status)) fail("/");
  root_device = status.st_dev;
  for (int i = 0; i < count; i++) {
    glob_t found;
    int result = glob(patterns[i], 0, NULL, &found);
    if (result == GLOB_NOMATCH) {
      fprintf(stderr, "%s does not exist.\n", patterns[i]);
      return NOT_FOUND;
    }
    if (result) stop("%s cannot be read.", patterns[i]);
    for (size_t j = 0; j < found.gl_pathc; j++) pack_source(found.gl_pathv[j]);
    globfree(&found);
  }
  write_all(end, sizeof end);
  return 0;
}

/* Unpacking */

static void read_all(void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t count = read(0, (char *)data + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read");
    if (count == 0) stop("The archive is incomplete.");
    done += (size_t)count;
  }
}

static void skip(unsigned long long size) {
  while (size > 0) {
    size_t part = size < sizeof buffer ? (size_t)size : sizeof buffer;
    read_all(buffer, part);
    size -= part;
  }
}

static unsigned long long padded(unsigned long long size) { return (size + BLOCK - 1) / BLOCK * BLOCK; }

static unsigned long long get_number(const char *field, size_t width) {
  unsigned long long value = 0;
  if (field[0] & 128) {
    for (size_t i = 1; i < width; i++) value = value << 8 | (unsigned char)field[i];
    return value;
  }
  for (size_t i = 0; i < width && field[i]; i++) {
    if (field[i] >= '0' && field[i] <= '7') value = value * 8 + (unsigned long long)(field[i] - '0');
  }
  return value;
}

static char *read_text(unsigned long long size) {
  if (size > MAX_NAME) stop("A name in the archive is too long.");
  char *text = malloc((size_t)size + 1);
  if (!text) fail("memory");
  read_all(text, (size_t)size);
  text[size] = 0;
  skip(padded(size) - size);
  return text;
}

static char *long_name, *long_link;
static unsigned long long pax_size;
static int has_pax_size;

/* Records of the form "LENGTH KEY=VALUE\n". */
static void read_pax(unsigned long long size) {
  char *text = read_text(size);
  for (char *at = text; at < text + size;) {
    char *end;
    unsigned long length = strtoul(at, &end, 10);
    if (*end != ' ' || length < 5 || length > (unsigned long)(text + size - at)) break;
    char *next = at + length;
    next[-1] = 0;
    char *key = end + 1, *value = strchr(key, '=');
    if (value) {
      *value++ = 0;
      if (strcmp(key, "path") == 0) free(long_name), long_name = strdup(value);
      if (strcmp(key, "linkpath") == 0) free(long_link), long_link = strdup(value);
      if (strcmp(key, "size") == 0) pax_size = strtoull(value, NULL, 10), has_pax_size = 1;
    }
    at = next;
  }
  free(text);
}

static char *copy_field(const char *field, size_t width) { return strndup(field, width); }

static char *entry_name(const struct header *header) {
  if (long_name) {
    char *name = long_name;
    long_name = NULL;
    return name;
  }
  int has_prefix = memcmp(header->magic, "ustar", 6) == 0 && header->prefix[0];
  if (!has_prefix) return copy_field(header->name, sizeof header->name);
  char *name;
  if (asprintf(&name, "%.155s/%.100s", header->prefix, header->name) < 0) fail("memory");
  return name;
}

static int leads_out(const char *name) {
  for (const char *part = name; part; part = strchr(part, '/')) {
    while (*part == '/') part++;
    if (strncmp(part, "..", 2) == 0 && (part[2] == 0 || part[2] == '/')) return 1;
  }
  return 0;
}

/* The folder, and the name of the only file if there is one. */
static char target_folder[PATH_MAX];
static const char *target_name;
static int entries;

static void choose_target(const char *target, const char *first) {
  struct stat status;
  size_t length = strlen(target);
  int is_folder = target[length - 1] == '/' || strncmp(first, "./", 2) == 0;
  if (!is_folder && stat(target, &status) == 0 && S_ISDIR(status.st_mode)) is_folder = 1;
  if (length >= PATH_MAX) errno = ENAMETOOLONG, fail(target);
  strcpy(target_folder, target);
  if (!is_folder) {
    char *slash = strrchr(target_folder, '/');
    target_name = strrchr(target, '/') + 1;
    slash[slash == target_folder ? 1 : 0] = 0;
  }
  make_folders(target_folder);
}

/* Removes what is in the way of a file. */
static void make_place(const char *path) {
  struct stat status;
  if (lstat(path, &status)) return;
  if (S_ISDIR(status.st_mode)) stop("%s is a folder, so it cannot be replaced with a file.", path);
  if (unlink(path)) fail(path);
}

static void set_attributes(const char *path, const struct header *header, int is_link) {
  uid_t uid = owner_uid == (uid_t)-1 ? (uid_t)get_number(header->uid, sizeof header->uid) : owner_uid;
  gid_t gid = owner_gid == (gid_t)-1 ? (gid_t)get_number(header->gid, sizeof header->gid) : owner_gid;
  if (lchown(path, uid, gid)) fail(path);
  mode_t mode = fixed_mode >= 0 ? (mode_t)fixed_mode : (mode_t)get_number(header->mode, sizeof header->mode) & 07777;
  if (!is_link && chmod(path, mode)) fail(path);
  unsigned long long mtime = get_number(header->mtime, sizeof header->mtime);
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)mtime}};
  if (mtime > 0 && utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW)) fail(path);
}

static void unpack_file(const char *path, unsigned long long size) {
  make_place(path);
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail(path);
  for (unsigned long long rest = size; rest > 0;) {
    size_t part = rest < sizeof buffer ? (size_t)rest : sizeof buffer;
    read_all(buffer, part);
    for (size_t done = 0; done < part;) {
      ssize_t written = write(file, buffer + done, part - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(path);
      done += (size_t)written;
    }
    rest -= part;
  }
  if (close(file)) fail(path);
  skip(padded(size) - size);
}

static void unpack_entry(const struct header *header, const char *target) {
  unsigned long long size = has_pax_size ? pax_size : get_number(header->size, sizeof header->size);
  char *name = entry_name(header), *link = long_link ? long_link : copy_field(header->link, sizeof header->link), *path;
  long_link = NULL;
  has_pax_size = 0;
  if (leads_out(name)) stop("%s leads out of the target.", name);
  if (entries++ == 0) choose_target(target, name);
  else if (target_name) stop("Several files were found, so the target must be a folder and end with /.");
  const char *relative = name;
  while (relative[0] == '/' || (relative[0] == '.' && (relative[1] == '/' || relative[1] == 0))) relative++;
  if (asprintf(&path, "%s/%s", target_folder, target_name ? target_name : relative) < 0) fail("memory");
  char *slash = strrchr(path, '/');
  if (!target_name && strchr(relative, '/')) {
    *slash = 0;
    make_folders(path);
    *slash = '/';
  }
  struct stat status;
  switch (header->type) {
    case 0: case '0': case '7':
      if (relative[0] == 0) stop("The archive contains a file without a name.");
      unpack_file(path, size);
      set_attributes(path, header, 0);
      break;
    case '1': {
      char *source;
      if (leads_out(link)) stop("%s leads out of the target.", link);
      if (asprintf(&source, "%s/%s", target_folder, link) < 0) fail("memory");
      make_place(path);
      if (linkat(AT_FDCWD, source, AT_FDCWD, path, 0)) fail(path);
      free(source);
      break;
    }
    case '2':
      /* A link to a folder that is in the way of a link to the same folder is the same link. */
      make_place(path);
      if (symlink(link, path)) fail(path);
      set_attributes(path, header, 1);
      break;
    case '5':
      if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        /* As in Docker, the attributes of the target itself stay, unless it is new. */
        if (relative[0] != 0) set_attributes(path, header, 0);
      } else {
        make_place(path);
        if (mkdir(path, 0700)) fail(path);
        set_attributes(path, header, 0);
      }
      break;
    default:
      skip(padded(size));
  }
  free(path);
  free(name);
  free(link);
}

static int unpack(const char *target) {
  struct header header;
  if (target[0] != '/') stop("The target must be an absolute path.");
  for (;;) {
    read_all(&header, sizeof header);
    static const struct header zeros;
    if (memcmp(&header, &zeros, sizeof header) == 0) break;
    unsigned long long size = get_number(header.size, sizeof header.size);
    if (header.type == 'L') free(long_name), long_name = read_text(size);
    else if (header.type == 'K') free(long_link), long_link = read_text(size);
    else if (header.type == 'x') read_pax(size);
    else if (header.type == 'g') skip(padded(size));
    else unpack_entry(&header, target);
  }
  if (entries == 0 && target[strlen(target) - 1] == '/') make_folders(target);
  /* The sender must not block on padding after the end. */
  while (read(0, buffer, sizeof buffer) > 0) continue;
  return 0;
}

static int folder(const char *path) {
  struct stat status;
  int is_new = stat(path, &status) != 0;
  make_folders(path);
  if (is_new && fixed_mode >= 0 && chmod(path, (mode_t)fixed_mode)) fail(path);
  return 0;
}

static int set(const char *path) {
  if (owner_uid != (uid_t)-1 && chown(path, owner_uid, owner_gid)) fail(path);
  if (fixed_mode >= 0 && chmod(path, (mode_t)fixed_mode)) fail(path);
  return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *position) {
  (void)status, (void)type;
  return position->level == 0 ? 0 : remove(path);
}

static int vacant(const char *path) {
  struct stat status;
  if (lstat(path, &status)) return errno == ENOENT ? 0 : (fail(path), 1);
  DIR *folder = S_ISDIR(status.st_mode) ? opendir(path) : NULL;
  int names = 0;
  while (folder && names <= 2 && readdir(folder)) names++;
  if (!folder || names > 2) stop("%s exists already, so nothing can be mounted there: use COPY.", path);
  closedir(folder);
  return 0;
}

static int clear(const char *path) {
  char real[PATH_MAX];
  struct stat status;
  if (lstat(path, &status) == 0 && !S_ISDIR(status.st_mode)) return unlink(path) ? (fail(path), 1) : 0;
  if (!realpath(path, real)) return errno == ENOENT ? 0 : (fail(path), 1);
  if (nftw(real, remove_entry, 20, FTW_DEPTH | FTW_PHYS)) fail(path);
  return 0;
}

int main(int argc, char **argv) {
  const char *action = argc > 1 ? argv[1] : "";
  umask(022);
  if (argc > 2 && strcmp(action, "pack") == 0) return pack(argc - 2, argv + 2);
  if (argc == 3 && strcmp(action, "clear") == 0) return clear(argv[2]);
  if (argc == 3 && strcmp(action, "vacant") == 0) return vacant(argv[2]);
  if (argc == 5) {
    parse_owner(argv[3]);
    parse_mode(argv[4]);
    if (strcmp(action, "unpack") == 0) return unpack(argv[2]);
    if (strcmp(action, "folder") == 0) return folder(argv[2]);
    if (strcmp(action, "set") == 0) return set(argv[2]);
  }
  fprintf(stderr, "usage: sandbox-copy pack PATTERN... | unpack|folder|set PATH OWNER MODE | clear|vacant PATH\n");
  return 2;
}
