/**
 * outrider-init: the first process of a sandbox. It starts commands, reaps processes, ends everything at the deadline and
 * carries streams between the sandbox and the worker over one connection.
 *
 * Without that connection the sandbox ends, except in a pod: there, all commands end, and init waits for the next
 * connection of the worker, so that the files stay (see pod.c).
 *
 * The protocol is described in packages/worker/src/sandboxes/init/frames.ts. The process is single-threaded: an event loop
 * calls one handler at a time. It trusts the worker, and nothing inside the sandbox.
 */
#ifndef OUTRIDER_INIT_H
#define OUTRIDER_INIT_H

#define _GNU_SOURCE
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/** The connection to the worker. A container gets it as its stdin and stdout, which then become these two files. */
#define CONNECTION_FD 5
#define OUTPUT_FD 6
/** How many bytes one side may send on a stream before the other side grants more. */
#define WINDOW (256u * 1024)
/** The largest payload of a data frame, and of any frame. */
#define MAX_DATA (64u * 1024)
#define MAX_PAYLOAD (4u * 1024 * 1024)

enum from_worker {
  CONFIGURE = 1,
  START = 2,
  KILL = 3,
  RESIZE = 4,
  DEADLINE = 5,
  LISTEN = 6,
  COUNT_LIMITS = 7,
  FREEZE = 8,
  THAW = 9,
  END_COMMANDS = 10,
  DATA = 16,
  END = 17,
  CREDIT = 18,
  RESET = 19,
};

enum to_worker {
  READY = 1,
  STARTED = 2,
  FAILED = 3,
  EXITED = 4,
  LISTENING = 5,
  ACCEPTED = 6,
  LIMIT_COUNTS = 7,
  DONE = 8,
  COMMANDS_ENDED = 9,
  /* DATA, END and CREDIT have the same numbers in both directions. */
  CLOSED = 19,
};

/* files.c */

void close_files(unsigned first, unsigned last);
int open_terminal_peer(int terminal);

/* loop.c */

struct source {
  int fd;
  bool watched;
  void (*on_ready)(struct source *);
};

void watch(struct source *source, uint32_t events);
void unwatch(struct source *source);
void close_source(struct source *source);

struct timer {
  struct timer *next, *previous;
  bool active;
  uint64_t at;
  void (*on_time)(struct timer *);
};

uint64_t now_ms(void);
void set_timer(struct timer *timer, uint64_t ms);
void clear_timer(struct timer *timer);
_Noreturn void run_loop(void);

/* Kills every process of the sandbox, because the first process of a pid namespace ends. */
_Noreturn void end_sandbox(void);
void *allocate(size_t size);

#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

/* connection.c */

struct buffer {
  uint8_t *data;
  size_t start, end, capacity;
};

uint8_t *reserve(struct buffer *buffer, size_t size);
void append(struct buffer *buffer, const void *data, size_t size);
void consume(struct buffer *buffer, size_t size);

struct payload {
  const uint8_t *data;
  size_t size;
};

/** Reads from a payload. A payload that is too short ends the sandbox. */
uint32_t take_u32(struct payload *payload);
uint64_t take_u64(struct payload *payload);
const char *take_string(struct payload *payload);

/** Uses these files as the connection. The second is -1 if the first is for both directions. */
void start_connection(int input_fd, int output_fd);
/** Called in a pod when all commands have ended. */
void on_commands_ended(void);
/** Closes the connection of a pod, if there is one. The connection that waits is used as soon as all commands have ended. */
void replace_connection(void);
/** Sends what is waiting if there is nothing else to do or too much of it. Returns whether it did anything. */
bool flush_when_idle(bool is_idle);
void send_frame(uint32_t type, uint32_t id, const void *payload, size_t size);
void send_pair(uint32_t type, uint32_t id, uint32_t first, uint32_t second);
void send_number(uint32_t type, uint32_t id, uint32_t number);
/** Whether so many bytes are waiting to be sent that no more output should be read. */
bool is_congested(void);
/** Reads from a file directly into a data frame. Returns what `read` returns. */
ssize_t send_from(int fd, uint32_t id, size_t max);

/* streams.c */

/** Sends what a command writes to the worker. */
struct output {
  struct source source;
  struct timer timer;
  struct output *next, *previous;
  uint32_t id, credit;
  bool closed, has_failed;
  /** The command has exited: deliver what is left, then discard the rest. */
  bool draining, discarding;
  /** Whether no process of the command is left, or the output is a terminal: nothing is discarded after the end. */
  bool is_abandoned, is_terminal;
  size_t undelivered;
  uint64_t quiet_at, drained_at;
  void (*on_closed)(struct output *);
};

/** Writes what the worker sends to a command or to a connection. */
struct input {
  struct source source;
  struct buffer buffer;
  uint32_t id, consumed;
  bool closed, ended;
  void (*on_closed)(struct input *);
};

void open_output(struct output *output, int fd, uint32_t id);
void drain_output(struct output *output, bool deliver_all);
void abandon_output(struct output *output);
void close_output(struct output *output);
void credit_output(struct output *output, uint32_t bytes);
/** Continues to read the outputs that waited for the connection. */
void resume_outputs(void);

void open_input(struct input *input, int fd, uint32_t id);
void write_input(struct input *input, const uint8_t *data, size_t size);
void end_input(struct input *input);
void close_input(struct input *input);

/* commands.c */

void configure(struct payload *payload);
void start_command(uint32_t id, struct payload *payload);
void kill_command(uint32_t id);
/** Kills every process of the sandbox and closes its streams. Calls `on_commands_ended` when all have exited. */
void end_commands(void);
void resize_command(uint32_t id, struct payload *payload);
struct output *find_command_output(uint32_t id);
struct input *find_command_input(uint32_t id);
/** Reaps processes that have exited. */
void reap(void);
bool is_supervisor(pid_t pid);

/* supervisor.c */

struct start {
  const char **folders, **argv, **env;
  gid_t *groups;
  uint32_t group_count;
  bool has_user, has_terminal;
  uid_t uid;
  gid_t gid;
  rlim_t open_files;
  /** Without instructions, system calls are not filtered. */
  struct sock_fprog filter;
};

/** What a supervisor reports to init. */
struct report {
  enum { REPORT_STARTED, REPORT_FAILED, REPORT_EXITED } kind;
  /** The error number and the step that failed, or the wait status. */
  int value, step;
};

enum step { STEP_FORK, STEP_USER, STEP_FOLDER, STEP_TERMINAL, STEP_EXEC, STEP_FILTER };

/**
 * Runs a command and becomes the parent of all its orphaned descendants. Its files are 0 to 2 for the command and 3 for
 * reports. Returns when the last descendant has exited.
 */
_Noreturn void supervise(const struct start *start);

/* limits.c */

/** Sends how often the control groups of the container have enforced the limits of memory and processes. */
void count_limits(uint32_t id);

/* freeze.c */

/** Stop and continue all other processes, and answer "done". */
void freeze(uint32_t id);
void thaw(uint32_t id);
void end_freeze(void);
bool is_frozen(void);

/* processes.c */

/** Whether a process is to be killed, together with all its descendants. */
typedef bool is_target(pid_t pid, pid_t parent, const void *context);

/** Stops and kills the targets and their descendants. Returns whether none was left. */
bool kill_trees(is_target *matches, const void *context, bool stop_everything);

/* pod.c */

/** Reads the arguments and waits for connections of the worker. */
void start_pod(char **arguments, int count);
/** Whether init stays without a connection. */
bool is_pod(void);
/** Moves the time at which init itself ends, which is a while after the deadline of the commands. */
void set_pod_deadline(uint64_t ms);
/** Called when the connection is closed. */
void on_pod_disconnected(void);
/** Called when all commands have ended. Uses the connection of a worker that has waited for it. */
void take_waiting_connection(void);
/** Runs in a process of its own that the worker starts in the pod. Gives init its stdin and stdout until init is done with them. */
int connect_to_pod(const char *name);

/* listeners.c */

void listen_on(uint32_t id, struct payload *payload);
struct output *find_connection_output(uint32_t id);
struct input *find_connection_input(uint32_t id);
bool is_connection(uint32_t id);
/** Closes a connection, with `is_error` so that its other end sees an error instead of the end of the data. */
void reset_connection(uint32_t id, bool is_error);
/** Accepts connections that waited for the connection to the worker. */
void resume_listeners(void);
/** Closes all listeners and connections. */
void close_listeners(void);

#endif
