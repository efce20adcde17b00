#include "init.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Reads the number that follows a name in a file of a control group. Without the file or the name, it is 0. */
static uint32_t read_count(const char *path, const char *name) {
  char text[1024];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return 0;
  text[size] = 0;
  size_t length = strlen(name);
  for (char *line = text; line; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, name, length) == 0 && line[length] == ' ') return (uint32_t)strtoul(line + length, NULL, 10);
  }
  return 0;
}

/** Engines mount the container's own control groups read-only: one folder for all in version 2, else one for each. */
void count_limits(uint32_t id) {
  uint32_t oom_kills = read_count("/sys/fs/cgroup/memory.events", "oom_kill") +
                       read_count("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill");
  uint32_t forks_refused =
    read_count("/sys/fs/cgroup/pids.events", "max") + read_count("/sys/fs/cgroup/pids/pids.events", "max");
  send_pair(LIMIT_COUNTS, id, oom_kills, forks_refused);
}
