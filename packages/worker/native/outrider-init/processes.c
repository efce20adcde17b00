#include "init.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** More processes than Linux's highest pid limit are not read. */
#define MAX_PROCESSES (4u * 1024 * 1024)
/** How often new processes are looked for while the known ones are stopped. */
#define MAX_STOP_ROUNDS 8

struct process {
  pid_t pid, parent;
  bool is_alive, is_target, is_stopped;
};

struct process_list {
  struct process *items;
  size_t count, capacity;
};

static bool read_process(const char *name, struct process *process) {
  char path[64], text[1024];
  if (strlen(name) > 20) return false;
  strcpy(path, "/proc/");
  strcat(path, name);
  strcat(path, "/stat");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return false;
  text[size] = 0;
  // The name of the program, in parentheses, may contain spaces and parentheses itself.
  char *fields = strrchr(text, ')');
  if (!fields || strlen(fields) < 5) return false;
  char state = fields[2];
  char *rest = fields + 4;
  process->pid = atoi(name);
  process->parent = (pid_t)strtol(rest, &rest, 10);
  long threads = 0;
  for (int field = 5; field <= 20; field++) threads = strtol(rest, &rest, 10);
  // A process whose first thread has exited is called a zombie too, although its other threads run.
  process->is_alive = (state != 'Z' && state != 'X') || threads > 1;
  return true;
}

static void read_processes(struct process_list *list) {
  list->count = 0;
  DIR *folder = opendir("/proc");
  if (!folder) end_sandbox();
  for (struct dirent *entry; (entry = readdir(folder)) && list->count < MAX_PROCESSES;) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    struct process process = {0};
    if (!read_process(entry->d_name, &process)) continue;
    if (list->count == list->capacity) {
      list->capacity = list->capacity ? 2 * list->capacity : 256;
      list->items = realloc(list->items, list->capacity * sizeof *list->items);
      if (!list->items) end_sandbox();
    }
    list->items[list->count++] = process;
  }
  closedir(folder);
}

static struct process *find_process(const struct process_list *list, pid_t pid) {
  for (size_t index = 0; index < list->count; index++) {
    if (list->items[index].pid == pid) return &list->items[index];
  }
  return NULL;
}

/** /proc lists processes by pid, and most have a higher pid than their parent, so few passes are needed. */
static void mark_targets(struct process_list *list, is_target *matches, const void *context) {
  bool *is_marked = NULL;
  size_t limit = 0;
  for (size_t index = 0; index < list->count; index++) {
    if ((size_t)list->items[index].pid >= limit) limit = (size_t)list->items[index].pid + 1;
  }
  is_marked = allocate(limit ? limit : 1);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t index = 0; index < list->count; index++) {
      struct process *process = &list->items[index];
      if (process->is_target || process->pid == 1) continue;
      bool has_marked_parent = (size_t)process->parent < limit && is_marked[process->parent];
      if (!has_marked_parent && !matches(process->pid, process->parent, context)) continue;
      process->is_target = is_marked[process->pid] = has_changed = true;
    }
  }
  free(is_marked);
}

bool kill_trees(is_target *matches, const void *context, bool stop_everything) {
  static struct process_list known, found;
  known.count = 0;
  // A signal to all processes is atomic: no process can fork without getting it.
  if (stop_everything) kill(-1, SIGSTOP);
  bool has_new = true;
  for (int round = 0; has_new && round < MAX_STOP_ROUNDS; round++) {
    has_new = false;
    read_processes(&found);
    mark_targets(&found, matches, context);
    for (size_t index = 0; index < found.count; index++) {
      struct process *process = &found.items[index];
      if (!process->is_target || !process->is_alive) continue;
      struct process *before = find_process(&known, process->pid);
      process->is_stopped = true;
      if (before && before->is_stopped) continue;
      kill(process->pid, SIGSTOP);
      has_new = true;
    }
    struct process_list swapped = known;
    known = found;
    found = swapped;
  }
  bool is_done = true;
  for (size_t index = 0; index < known.count; index++) {
    if (!known.items[index].is_stopped) continue;
    kill(known.items[index].pid, SIGKILL);
    is_done = false;
  }
  if (stop_everything && !is_frozen()) kill(-1, SIGCONT);
  return is_done;
}
