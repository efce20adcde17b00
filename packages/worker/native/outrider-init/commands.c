#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum start_flags { WITH_STDIN = 1, MERGED = 2, TERMINAL = 4, WITH_USER = 8 };
enum exit_flags { KILLED = 1 };

#define MAX_FOLDERS 8
#define MAX_STRINGS 65536
#define MAX_GROUPS 64
/** After this many attempts, all processes of the sandbox are stopped while those of the command are killed. */
#define MAX_KILL_ATTEMPTS 20

/** The streams of a command have its id plus 0 (stdin), 1 (stdout) and 2 (stderr). Ids of commands are multiples of 4. */
#define STREAM_MASK 3u

struct command {
  struct command *next, *previous;
  uint32_t id;
  pid_t supervisor;
  /** Receives the reports of the supervisor. */
  struct source reports;
  struct input stdin;
  struct output stdout, stderr;
  bool has_failed, has_exited, is_killed;
  int terminal;
  struct timer kill_timer, release_timer;
  int kill_attempts;
};

static struct command commands = {.next = &commands, .previous = &commands};
static char *own_folders[MAX_FOLDERS];
static rlim_t open_files;
static struct sock_filter instructions[BPF_MAXINSNS];
static unsigned short instruction_count;
static struct timer orphan_timer, end_timer;
static int orphan_attempts, end_attempts;

static void on_reports(struct source *source);
static void on_kill_timer(struct timer *timer);
static void on_orphan_timer(struct timer *timer);
static void on_end_timer(struct timer *timer);

static struct command *find_command(uint32_t id) {
  for (struct command *command = commands.next; command != &commands; command = command->next) {
    if (command->id == id) return command;
  }
  return NULL;
}

struct output *find_command_output(uint32_t id) {
  struct command *command = find_command(id & ~STREAM_MASK);
  if (!command || (id & STREAM_MASK) == 0) return NULL;
  struct output *output = (id & STREAM_MASK) == 1 ? &command->stdout : &command->stderr;
  return output->closed || output->discarding ? NULL : output;
}

struct input *find_command_input(uint32_t id) {
  struct command *command = (id & STREAM_MASK) == 0 ? find_command(id) : NULL;
  return command && !command->stdin.closed ? &command->stdin : NULL;
}

bool is_supervisor(pid_t pid) {
  for (struct command *command = commands.next; command != &commands; command = command->next) {
    if (command->supervisor == pid) return true;
  }
  return false;
}

/** Reads an array of `struct sock_filter`, each as two numbers. */
static void take_filter(struct payload *payload) {
  uint32_t count = take_u32(payload);
  if (count > BPF_MAXINSNS) end_sandbox();
  for (uint32_t index = 0; index < count; index++) {
    uint32_t code_and_jumps = take_u32(payload);
    instructions[index] = (struct sock_filter){
        .code = (uint16_t)code_and_jumps,
        .jt = (uint8_t)(code_and_jumps >> 16),
        .jf = (uint8_t)(code_and_jumps >> 24),
        .k = take_u32(payload),
    };
  }
  instruction_count = (unsigned short)count;
}

/** The limits that need no control group, and the filter of system calls. */
void configure(struct payload *payload) {
  uint32_t max_processes = take_u32(payload);
  take_filter(payload);
  uint32_t count = take_u32(payload);
  if (count > MAX_FOLDERS) end_sandbox();
  for (uint32_t index = 0; index < count; index++) {
    free(own_folders[index]);
    own_folders[index] = strdup(take_string(payload));
    if (!own_folders[index]) end_sandbox();
  }
  struct rlimit none = {0, 0}, file_size = {(rlim_t)16 << 30, (rlim_t)16 << 30}, files;
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_FSIZE, &file_size);
  if (max_processes > 0) {
    struct rlimit processes = {max_processes, max_processes};
    setrlimit(RLIMIT_NPROC, &processes);
  }
  // init needs several files for each command. Commands get the limit back.
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) end_sandbox();
  if (open_files == 0) open_files = files.rlim_cur;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  umask(022);
  orphan_timer.on_time = on_orphan_timer;
}

/** Frees a command that nothing uses any longer. Called by a timer, so that no handler uses it afterwards. */
static void on_release_timer(struct timer *timer) {
  struct command *command = container_of(timer, struct command, release_timer);
  bool is_over = command->supervisor == 0 && command->has_exited && command->stdin.closed && command->stdout.closed &&
                 command->stderr.closed;
  if (!is_over) return;
  close_source(&command->reports);
  clear_timer(&command->kill_timer);
  command->next->previous = command->previous;
  command->previous->next = command->next;
  free(command);
}

static void on_stdin_closed(struct input *input) {
  struct command *command = container_of(input, struct command, stdin);
  send_frame(CLOSED, input->id, NULL, 0);
  set_timer(&command->release_timer, 0);
}

static void on_output_closed(struct command *command) {
  // Closing a terminal ends the processes that still use it.
  if (command->terminal >= 0 && command->stdout.closed) {
    close(command->terminal);
    command->terminal = -1;
  }
  set_timer(&command->release_timer, 0);
}

static void on_stdout_closed(struct output *output) { on_output_closed(container_of(output, struct command, stdout)); }
static void on_stderr_closed(struct output *output) { on_output_closed(container_of(output, struct command, stderr)); }

/** In a pod, init is root, which has access to everything. The owner of the folder is the user of commands. */
static bool has_access(const char *folder) {
  struct stat status;
  if (!is_pod()) return access(folder, R_OK | W_OK | X_OK) == 0;
  return stat(folder, &status) == 0 && (status.st_mode & S_IRWXU) == S_IRWXU;
}

/** A command can remove its own access to the sandbox's folders. That must not lock out later commands. */
static void restore_access(void) {
  for (int index = 0; index < MAX_FOLDERS && own_folders[index]; index++) {
    if (!has_access(own_folders[index])) chmod(own_folders[index], 0700);
  }
}

static const char **take_strings(struct payload *payload, uint32_t count) {
  if (count > MAX_STRINGS) end_sandbox();
  const char **strings = allocate((count + 1) * sizeof *strings);
  for (uint32_t index = 0; index < count; index++) strings[index] = take_string(payload);
  return strings;
}

/** The files of a new command: [0] is the command's end and [1] is init's end. */
struct files {
  int stdin[2], stdout[2], stderr[2], reports[2];
  int terminal;
};

static bool open_pipe(int files[2], bool is_input) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  files[0] = is_input ? ends[0] : ends[1];
  files[1] = is_input ? ends[1] : ends[0];
  fcntl(files[1], F_SETFL, O_NONBLOCK);
  return true;
}

static bool open_terminal(struct files *files, uint16_t rows, uint16_t columns) {
  int unlocked = 0;
  files->terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (files->terminal < 0 || ioctl(files->terminal, TIOCSPTLCK, &unlocked) != 0) return false;
  struct winsize size = {.ws_row = rows, .ws_col = columns};
  ioctl(files->terminal, TIOCSWINSZ, &size);
  files->stdin[0] = open_terminal_peer(files->terminal);
  files->stdin[1] = fcntl(files->terminal, F_DUPFD_CLOEXEC, 3);
  files->stdout[1] = fcntl(files->terminal, F_DUPFD_CLOEXEC, 3);
  return files->stdin[0] >= 0 && files->stdin[1] >= 0 && files->stdout[1] >= 0;
}

static bool open_files_of(struct files *files, uint32_t flags, uint16_t rows, uint16_t columns) {
  if (!open_pipe(files->reports, false)) return false;
  if (flags & TERMINAL) return open_terminal(files, rows, columns);
  if (flags & WITH_STDIN) {
    if (!open_pipe(files->stdin, true)) return false;
  } else {
    files->stdin[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (files->stdin[0] < 0) return false;
  }
  return open_pipe(files->stdout, false) && ((flags & MERGED) || open_pipe(files->stderr, false));
}

static void close_all(const int *files, size_t count) {
  for (size_t index = 0; index < count; index++) {
    if (files[index] >= 0) close(files[index]);
  }
}

static void open_streams(struct command *command, const struct files *files) {
  command->stdin.on_closed = on_stdin_closed;
  command->stdout.on_closed = on_stdout_closed;
  command->stderr.on_closed = on_stderr_closed;
  command->stdout.is_terminal = files->terminal >= 0;
  open_input(&command->stdin, files->stdin[1], command->id);
  open_output(&command->stdout, files->stdout[1], command->id + 1);
  open_output(&command->stderr, files->stderr[1], command->id + 2);
}

/** Gives the command's user the files, so that it can open /dev/stdout and /dev/stderr by path. */
static void give_files(const struct files *files, const struct start *start) {
  if (!start->has_user) return;
  int ends[] = {files->stdin[0], files->stdout[0], files->stderr[0]};
  for (size_t index = 0; index < 3; index++) {
    if (ends[index] >= 0 && (index > 0 || files->stdin[1] >= 0)) (void)!fchown(ends[index], start->uid, start->gid);
  }
}

/** In the new supervisor: moves its files to 0 to 3 and closes all others. */
static _Noreturn void become_supervisor(const struct files *files, const struct start *start) {
  int out = files->stdout[0] >= 0 ? files->stdout[0] : files->stdin[0];
  int wanted[4] = {files->stdin[0], out, files->stderr[0] >= 0 ? files->stderr[0] : out, files->reports[0]};
  for (int index = 0; index < 4; index++) {
    wanted[index] = fcntl(wanted[index], F_DUPFD_CLOEXEC, 100);
    if (wanted[index] < 0) _exit(1);
  }
  for (int index = 0; index < 4; index++) dup2(wanted[index], index);
  close_files(4, ~0U);
  supervise(start);
}

static void fail(struct command *command, int error, int step) {
  command->has_failed = true;
  send_pair(FAILED, command->id, (uint32_t)error, (uint32_t)step);
}

/** Reports the end of a command to the worker, once. */
static void end_command(struct command *command, int status, bool is_killed) {
  if (command->has_exited) return;
  command->has_exited = true;
  close_input(&command->stdin);
  if (!command->has_failed) send_pair(EXITED, command->id, is_killed ? KILLED : 0, (uint32_t)status);
  drain_output(&command->stdout, !is_killed);
  drain_output(&command->stderr, !is_killed);
  set_timer(&command->release_timer, 0);
}

void start_command(uint32_t id, struct payload *payload) {
  if ((id & STREAM_MASK) != 0 || find_command(id)) end_sandbox();
  struct start start = {.open_files = open_files, .filter = {instruction_count, instructions}};
  uint32_t flags = take_u32(payload);
  uint32_t rows = take_u32(payload), columns = take_u32(payload);
  start.has_user = flags & WITH_USER;
  start.has_terminal = flags & TERMINAL;
  start.uid = take_u32(payload);
  start.gid = take_u32(payload);
  start.group_count = take_u32(payload);
  if (start.group_count > MAX_GROUPS) end_sandbox();
  gid_t groups[MAX_GROUPS];
  for (uint32_t index = 0; index < start.group_count; index++) groups[index] = take_u32(payload);
  start.groups = groups;
  uint32_t folder_count = take_u32(payload), argument_count = take_u32(payload), variable_count = take_u32(payload);
  start.folders = take_strings(payload, folder_count);
  start.argv = take_strings(payload, argument_count);
  start.env = take_strings(payload, variable_count);
  if (argument_count == 0) end_sandbox();

  restore_access();
  struct files files = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, -1};
  pid_t pid = -1;
  int error = 0;
  if (!open_files_of(&files, flags, (uint16_t)rows, (uint16_t)columns)) {
    error = errno;
  } else {
    give_files(&files, &start);
    pid = fork();
    if (pid == 0) become_supervisor(&files, &start);
    if (pid < 0) error = errno;
  }
  int ends[] = {files.stdin[0], files.stdout[0], files.stderr[0], files.reports[0]};
  close_all(ends, 4);
  free(start.folders);
  free(start.argv);
  free(start.env);
  struct command *command = allocate(sizeof *command);
  command->id = id;
  command->supervisor = pid < 0 ? 0 : pid;
  command->terminal = files.terminal;
  command->reports = (struct source){.fd = files.reports[1], .on_ready = on_reports};
  command->kill_timer.on_time = on_kill_timer;
  command->release_timer.on_time = on_release_timer;
  command->next = commands.next;
  command->previous = &commands;
  commands.next->previous = command;
  commands.next = command;
  open_streams(command, &files);
  if (pid > 0) return watch(&command->reports, EPOLLIN);
  fail(command, error, STEP_FORK);
  end_command(command, 0, false);
  close_output(&command->stdout);
  close_output(&command->stderr);
}

void resize_command(uint32_t id, struct payload *payload) {
  uint32_t rows = take_u32(payload), columns = take_u32(payload);
  struct command *command = find_command(id);
  if (!command || command->terminal < 0) return;
  struct winsize size = {.ws_row = (uint16_t)rows, .ws_col = (uint16_t)columns};
  ioctl(command->terminal, TIOCSWINSZ, &size);
}

static void read_reports(struct command *command) {
  struct report report;
  while (command->reports.fd >= 0) {
    ssize_t size = read(command->reports.fd, &report, sizeof report);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size != sizeof report) return close_source(&command->reports); // the supervisor has exited
    if (report.kind == REPORT_STARTED) send_frame(STARTED, command->id, NULL, 0);
    else if (report.kind == REPORT_FAILED) fail(command, report.value, report.step);
    // A killed command ends when all its processes have exited.
    else if (!command->is_killed) end_command(command, report.value, false);
  }
}

static void on_reports(struct source *source) { read_reports(container_of(source, struct command, reports)); }

static bool is_child_of(pid_t pid, pid_t parent, const void *context) {
  (void)pid;
  return parent == *(const pid_t *)context;
}

void kill_command(uint32_t id) {
  struct command *command = find_command(id);
  if (!command || command->has_exited || command->is_killed) return;
  command->is_killed = true;
  on_kill_timer(&command->kill_timer);
}

static void on_kill_timer(struct timer *timer) {
  struct command *command = container_of(timer, struct command, kill_timer);
  if (command->supervisor == 0) return;
  bool stop_everything = ++command->kill_attempts > MAX_KILL_ATTEMPTS;
  if (kill_trees(is_child_of, &command->supervisor, stop_everything)) kill(command->supervisor, SIGKILL);
  else set_timer(timer, command->kill_attempts < 10 ? 2 : 10);
}

static bool is_orphan(pid_t pid, pid_t parent, const void *context) {
  (void)context;
  return parent == 1 && !is_supervisor(pid);
}

/**
 * Kills the processes of commands whose supervisor was killed. Every other process has a supervisor among its ancestors,
 * so all other children of init are such orphans.
 */
static void on_orphan_timer(struct timer *timer) {
  bool stop_everything = ++orphan_attempts > MAX_KILL_ATTEMPTS;
  if (!kill_trees(is_orphan, NULL, stop_everything)) return set_timer(timer, orphan_attempts < 10 ? 2 : 10);
  orphan_attempts = 0;
  for (struct command *command = commands.next; command != &commands; command = command->next) {
    if (command->supervisor != 0 || command->has_exited) continue;
    // A command that ended its own supervisor has ended itself.
    end_command(command, SIGKILL, command->is_killed);
    abandon_output(&command->stdout);
    abandon_output(&command->stderr);
  }
}

static bool is_child_of_init(pid_t pid, pid_t parent, const void *context) {
  (void)pid;
  (void)context;
  return parent == 1;
}

/** The processes that the worker starts in a pod are no children of init, so that they stay. */
static void on_end_timer(struct timer *timer) {
  bool stop_everything = ++end_attempts > MAX_KILL_ATTEMPTS;
  bool is_done = kill_trees(is_child_of_init, NULL, stop_everything);
  if (is_done && commands.next == &commands) return on_commands_ended();
  set_timer(timer, end_attempts < 10 ? 2 : 10);
}

void end_commands(void) {
  end_attempts = 0;
  for (struct command *command = commands.next; command != &commands; command = command->next) {
    command->is_killed = true;
    close_input(&command->stdin);
    close_output(&command->stdout);
    close_output(&command->stderr);
  }
  end_timer.on_time = on_end_timer;
  set_timer(&end_timer, 0);
}

/** When a supervisor exits by itself, the command has no process left. When it was killed, there may be orphans. */
static void on_supervisor_exit(struct command *command, bool was_killed) {
  command->supervisor = 0;
  read_reports(command);
  if (!was_killed && !command->has_exited) end_command(command, SIGKILL, command->is_killed);
  abandon_output(&command->stdout);
  abandon_output(&command->stderr);
  if (was_killed) set_timer(&orphan_timer, 0);
  set_timer(&command->release_timer, 0);
}

void reap(void) {
  for (;;) {
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (pid <= 0) return;
    struct command *command = NULL;
    for (struct command *each = commands.next; each != &commands; each = each->next) {
      if (each->supervisor == pid) command = each;
    }
    if (WIFSTOPPED(status)) {
      if (command && !is_frozen()) kill(pid, SIGCONT);
    } else if (command) {
      on_supervisor_exit(command, WIFSIGNALED(status));
    } else if (!orphan_timer.active) {
      set_timer(&orphan_timer, 0);
    }
  }
}
