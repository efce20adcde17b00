/* What the files of this program share. */
#define _GNU_SOURCE
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { BLOCK = 512, MAX_TEXT = 16 << 20, MAX_DEPTH = 1000 };

/* errors.c: prints what is wrong and exits. */
_Noreturn void stop(const char *format, ...);
_Noreturn void fail(const char *path);

/* Bytes that grow. */
struct bytes {
  char *data;
  size_t size, capacity;
};

void append(struct bytes *bytes, const void *data, size_t size);
void append_text(struct bytes *bytes, const char *text);

/* A region of a sparse file. */
struct region {
  uint64_t offset, size;
};

/* An entry of an archive. */
struct tar_entry {
  char type;
  char *name, *link;
  unsigned mode, uid, gid;
  struct timespec mtime;
  /* Of the body. */
  uint64_t size;
  /* Of a sparse file, whose body begins with the list of its regions. */
  int is_sparse;
  uint64_t real_size;
  /* Extended attributes: a name and a value for each, as records "LENGTH NAME=VALUE\n". To be written, names have the prefix. */
  struct bytes attributes;
};

/* mounts.c: what is not part of the system of the image. Without a call of `read_mounts`, there is nothing of this. */
enum { IS_OWN = 1, IS_HOME };
void read_mounts(void);
int is_mount(const char *path);
int is_own(const char *path);
int can_move_folders(void);

/* tar.c: archives at stdin and stdout. */
extern const char attribute_prefix[14];
void append_record(struct bytes *records, const char *key, const void *value, size_t size);
void write_all(const void *data, size_t size);
void write_padding(uint64_t size);
void write_entry(const struct tar_entry *entry);
void write_end(void);
size_t read_some(void *data, size_t size);
void read_all(void *data, size_t size);
void skip(uint64_t size);
uint64_t padding_of(uint64_t size);
int read_entry(struct tar_entry *entry);
void drain(void);

/* list.c: the names in a folder, sorted. */
struct names {
  char **list;
  size_t count;
};
struct names list_names(int folder, const char *path);
void free_names(struct names *names);
int has_name(const struct names *names, const char *name);
void sort_names(struct names *names);
int open_folder(int parent, const char *name);

/* pack.c */
struct tar_entry describe(const char *name, char type, const struct stat *status);
struct bytes read_attributes(int fd, const char *path, const char *prefix);
void pack(int folder, const char *path, int64_t changed_after, char **volumes, int is_complete);
void unpack(int root);
