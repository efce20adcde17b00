/*
 * Creates the mount namespace of a sandbox with its file systems, as the host's root. It replaces cp, unshare, a shell and two
 * calls of mount, whose start takes longer than what they do.
 *
 *     make-rootfs TAG STEP...
 *
 * TAG identifies the process. Steps, in order:
 *     copy SOURCE TARGET           copies a file, in which holes stay holes
 *     unshare                      enters a new mount namespace, which receives the mounts of the host
 *     overlay FOLDER OPTIONS PATH  mounts an overlay, whose options are relative to FOLDER
 *     ext4 IMAGE PATH              mounts an image
 *
 * Then it prints its pid and waits until stdin ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, LOOP_TRIES = 100 };

static void fail(const char *action, const char *path) {
  fprintf(stderr, "make-rootfs: failed to %s %s: %s\n", action, path, strerror(errno));
  exit(1);
}

static void copy_range(int from, int to, off_t start, off_t end, const char *path) {
  static char buffer[BUFFER], zeros[BUFFER];
  while (start < end) {
    size_t size = end - start < BUFFER ? (size_t)(end - start) : BUFFER;
    ssize_t got = pread(from, buffer, size, start);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("read", path);
    /* The image is new, so what is not written is zero. */
    if (memcmp(buffer, zeros, (size_t)got) != 0 && pwrite(to, buffer, (size_t)got, start) != got) fail("write", path);
    start += got;
  }
}

static void copy(const char *source, const char *target) {
  struct stat status;
  int from = open(source, O_RDONLY | O_CLOEXEC);
  if (from < 0 || fstat(from, &status)) fail("open", source);
  int to = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (to < 0 || ftruncate(to, status.st_size)) fail("create", target);
  for (off_t end = 0, start; (start = lseek(from, end, SEEK_DATA)) >= 0; copy_range(from, to, start, end, target)) {
    end = lseek(from, start, SEEK_HOLE);
    if (end < 0) fail("read", source);
  }
  if (errno != ENXIO) fail("read", source);
  close(from);
  if (close(to)) fail("write", target);
}

/* The device disappears with its last mount. Linux before 5.8 configures it in two steps. */
static int configure(int device, int image) {
  struct loop_config config = {.fd = (unsigned)image, .info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};
  if (ioctl(device, LOOP_CONFIGURE, &config) == 0) return 1;
  if (errno != EINVAL && errno != ENOTTY) return 0;
  if (ioctl(device, LOOP_SET_FD, image)) return 0;
  if (ioctl(device, LOOP_SET_STATUS64, &config.info) == 0) return 1;
  int reason = errno;
  ioctl(device, LOOP_CLR_FD, 0);
  errno = reason;
  return 0;
}

static int open_loop(int control, int image, char path[32]) {
  for (int tries = 0; tries < LOOP_TRIES; tries++) {
    int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) fail("find", "a loop device");
    snprintf(path, 32, "/dev/loop%d", number);
    int device = open(path, O_RDWR | O_CLOEXEC);
    if (device < 0) fail("open", path);
    if (configure(device, image)) return device;
    if (errno != EBUSY) fail("configure", path);
    close(device); /* another process was faster */
  }
  fail("find", "a loop device");
  return -1;
}

/* See mountCommand in disk-images.ts for the options. */
static void mount_ext4(const char *image_path, const char *target) {
  char path[32];
  int image = open(image_path, O_RDWR | O_CLOEXEC);
  if (image < 0) fail("open", image_path);
  int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) fail("open", "/dev/loop-control");
  int device = open_loop(control, image, path);
  if (mount(path, target, "ext4", MS_NODEV | MS_NOSUID | MS_NOATIME, "discard,noinit_itable,nobarrier"))
    fail("mount", image_path);
  close(device);
  close(control);
  close(image);
}

static void unshare_mounts(void) {
  /* Slave mounts, not private ones: otherwise this copy would keep a mount busy after the host unmounts it. */
  if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL)) fail("create", "a mount namespace");
}

static void mount_overlay(const char *folder, const char *options, const char *target) {
  if (chdir(folder)) fail("enter", folder);
  if (mount("overlay", target, "overlay", 0, options)) fail("mount an overlay at", target);
  if (chdir("/")) fail("enter", "/");
}

int main(int argc, char **argv) {
  char input[64];
  for (int i = 2; i < argc;) {
    int left = argc - i;
    if (left > 2 && strcmp(argv[i], "copy") == 0) {
      copy(argv[i + 1], argv[i + 2]), i += 3;
    } else if (strcmp(argv[i], "unshare") == 0) {
      unshare_mounts(), i += 1;
    } else if (left > 3 && strcmp(argv[i], "overlay") == 0) {
      mount_overlay(argv[i + 1], argv[i + 2], argv[i + 3]), i += 4;
    } else if (left > 2 && strcmp(argv[i], "ext4") == 0) {
      mount_ext4(argv[i + 1], argv[i + 2]), i += 3;
    } else {
      fprintf(stderr, "usage: make-rootfs TAG (copy SOURCE TARGET | unshare | overlay FOLDER OPTIONS PATH | ext4 IMAGE PATH)...\n");
      return 2;
    }
  }
  printf("%d\n", getpid());
  if (fflush(stdout)) fail("write", "the pid");
  for (ssize_t got; (got = read(0, input, sizeof input)) != 0;)
    if (got < 0 && errno != EINTR) return 1;
  return 0;
}
