#include "changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files that the sandbox itself adds to the image. */
static const char *own[] = {"/etc/outrider-connect", "/opt/outrider", "/.outrider"};
/* For most users, the sandbox adds a link to their home here. */
static const char home_link[] = "/home/sandbox";

static struct names mounts;
static int moves_folders = 1;

/* Replaces "\040" and the like. */
static void unescape(char *text) {
  char *to = text;
  for (const char *from = text; *from; to++) {
    unsigned code;
    if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1) *to = (char)code, from += 4;
    else *to = *from++;
  }
  *to = 0;
}

void read_mounts(void) {
  char *line = NULL;
  size_t size = 0;
  FILE *file = fopen("/proc/self/mountinfo", "re");
  if (!file) fail("/proc/self/mountinfo");
  while (getline(&line, &size, file) > 0) {
    char *fields[5], *rest = line, *end = strstr(line, " - ");
    for (int i = 0; i < 5; i++) fields[i] = strsep(&rest, " ");
    if (!rest || !end) continue;
    unescape(fields[4]);
    mounts.list = realloc(mounts.list, (mounts.count + 1) * sizeof *mounts.list);
    if (!mounts.list || !(mounts.list[mounts.count++] = strdup(fields[4]))) fail("memory");
    if (strcmp(fields[4], "/") == 0) moves_folders = strncmp(end + 3, "overlay ", 8) != 0;
  }
  free(line);
  fclose(file);
  sort_names(&mounts);
}

int is_mount(const char *path) { return has_name(&mounts, path); }

int is_own(const char *path) {
  if (mounts.count == 0) return 0;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strcmp(path, own[i]) == 0) return IS_OWN;
  return strcmp(path, home_link) == 0 ? IS_HOME : 0;
}

int can_move_folders(void) { return moves_folders; }
