/*
 * Prints the files of a workspace without repositories as a patch (see src/workspace/diff.ts). It runs inside the sandbox, at the
 * end of every turn that changed a file. A shell script would have to start further programs, each of which takes longer
 * than git needs for a few small files.
 *
 *     workspace-diff SCRIPT
 *         prints a line that contains only "patch", and the patch. If there are binary files in the patch, it first runs this
 *         bash script, whose argument is the path of the patch, and prints its output.
 *
 * The index and the objects of git are in a temporary folder, which is removed at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The hash of a folder without files, which every repository knows. */
#define EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
#define GIT "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*", "-c", "gc.auto=0"

static char work[] = "/tmp/outrider-diff-XXXXXX";

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *position) {
  (void)status, (void)type, (void)position;
  remove(path);
  return 0;
}

static void remove_work(void) {
  nftw(work, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void fail(const char *action) {
  fprintf(stderr, "%s: %s\n", action, strerror(errno));
  exit(1);
}

/* Runs a program with its output to a file, and exits if it fails. */
static void run(char *const argv[], int out) {
  extern char **environ;
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  errno = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
  if (errno) fail(argv[0]);
  posix_spawn_file_actions_destroy(&actions);
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail("wait for a process");
  if (!WIFEXITED(status)) exit(1);
  if (WEXITSTATUS(status)) exit(WEXITSTATUS(status));
}

/* Returns whether a patch has binary files. Lines of file content never start with these words. */
static int has_binaries(FILE *patch) {
  static const char words[] = "GIT binary patch\n";
  size_t matched = 0;
  rewind(patch);
  /* `matched` counts the letters that the line has in common with the words. After another letter, it is too large. */
  for (int letter; (letter = getc_unlocked(patch)) != EOF;) {
    if (matched < sizeof words - 1 && letter == words[matched]) {
      if (++matched == sizeof words - 1) return 1;
    } else {
      matched = letter == '\n' ? 0 : sizeof words;
    }
  }
  if (ferror(patch)) fail("read the patch");
  return 0;
}

static void print(FILE *patch) {
  static char data[1 << 16];
  rewind(patch);
  signal(SIGPIPE, SIG_IGN); /* The folder is removed even if nobody reads the patch. */
  fputs("patch\n", stdout);
  for (size_t size; (size = fread(data, 1, sizeof data, patch)) > 0;) fwrite(data, 1, size, stdout);
  if (ferror(patch)) fail("read the patch");
  if (fflush(stdout) || ferror(stdout)) fail("print the patch");
}

int main(int argc, char **argv) {
  static const char *const variables[][2] = {
    {"GIT_DIR", work}, {"GIT_WORK_TREE", "/workspace"}, {"GIT_OPTIONAL_LOCKS", "0"}, {"GIT_CONFIG_NOSYSTEM", "1"},
    {"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_TERMINAL_PROMPT", "0"},
  };
  if (argc != 2) {
    fprintf(stderr, "usage: workspace-diff SCRIPT\n");
    return 2;
  }
  if (!mkdtemp(work)) fail("create a temporary folder");
  atexit(remove_work);
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
    if (setenv(variables[i][0], variables[i][1], 1)) fail("set a variable");
  /* This takes less time than git init. */
  int folder = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || mkdirat(folder, "objects", 0700) || mkdirat(folder, "refs", 0700)) fail("create a repository");
  int head = openat(folder, "HEAD", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (head < 0 || dprintf(head, "ref: refs/heads/main\n") < 0 || close(head)) fail("create a repository");
  char path[sizeof work + sizeof "/patch"];
  snprintf(path, sizeof path, "%s/patch", work);
  FILE *patch = fopen(path, "w+xe");
  if (!patch) fail("create the patch");
  run((char *[]){GIT, "add", "-A", ".", NULL}, 1);
  run((char *[]){GIT, "-c", "core.quotePath=false", "diff", "--cached", "--find-renames", "--full-index", "--no-color",
                 "--no-ext-diff", "--no-textconv", "--binary", EMPTY_TREE, NULL},
      fileno(patch));
  if (has_binaries(patch)) run((char *[]){"bash", "--norc", "-c", argv[1], "bash", path, NULL}, 1);
  print(patch);
  return 0;
}
