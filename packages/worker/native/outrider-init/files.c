#include "init.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/** Closes the files from `first` to `last`. gVisor and Linux before 5.9 cannot do it with one call. */
void close_files(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  DIR *list = opendir("/proc/self/fd");
  if (!list) end_sandbox();
  for (struct dirent *entry; (entry = readdir(list));) {
    unsigned fd = (unsigned)strtoul(entry->d_name, NULL, 10);
    if (entry->d_name[0] != '.' && fd >= first && fd <= last && fd != (unsigned)dirfd(list)) close((int)fd);
  }
  closedir(list);
}

/** Opens the command's end of a terminal. gVisor can open it only by path. */
int open_terminal_peer(int terminal) {
  int peer = ioctl(terminal, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC), number;
  if (peer >= 0 || ioctl(terminal, TIOCGPTN, &number) != 0) return peer;
  char path[32];
  snprintf(path, sizeof path, "/dev/pts/%d", number);
  return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}
