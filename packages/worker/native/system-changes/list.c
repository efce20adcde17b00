#include "changes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int open_folder(int parent, const char *name) {
  return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void sort_names(struct names *names) {
  if (names->count > 1) qsort(names->list, names->count, sizeof *names->list, compare);
}

int has_name(const struct names *names, const char *name) {
  return names->count > 0 && bsearch(&name, names->list, names->count, sizeof *names->list, compare) != NULL;
}

struct names list_names(int folder, const char *path) {
  struct names names = {0};
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = copy < 0 ? NULL : fdopendir(copy);
  if (!entries) fail(path);
  for (struct dirent *entry; (errno = 0, entry = readdir(entries));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (names.count % 64 == 0) names.list = realloc(names.list, (names.count + 64) * sizeof *names.list);
    if (!names.list || !(names.list[names.count++] = strdup(entry->d_name))) fail("memory");
  }
  if (errno) fail(path);
  closedir(entries);
  sort_names(&names);
  return names;
}

void free_names(struct names *names) {
  for (size_t i = 0; i < names->count; i++) free(names->list[i]);
  free(names->list);
}
