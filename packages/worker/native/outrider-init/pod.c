/*
 * In a pod, init has no connection when it starts. The worker executes `outrider-init connect` in the container, which gives
 * init its stdin and stdout as the connection, through a socket. The worker's stream can break although the sandbox is intact,
 * for example when the API server restarts. Then all commands end, but init waits for the next connection, so that the
 * worker can still store the files.
 *
 * Commands share the network namespace with init and may be root of an image, so they can reach the socket. What keeps them
 * from taking over the connection:
 * - Each connection begins with a token, which is an argument of init. init erases it before anything else runs here, and
 *   no other process can read its memory. `connect` gets the token from the worker.
 * - `connect` accepts only a socket that process 1 has opened.
 * - Commands lack a capability that init and `connect` have (see `supervisor.c`), so they cannot trace either of them.
 */
#include "init.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TOKEN_SIZE 64
#define MAX_CLIENTS 8
/** How long a process may take to send the token after it has connected. */
#define CLIENT_MS 5000
/** How long init stays after the deadline of the commands, so that the worker can store the files. */
#define STAY_MS (5u * 60 * 1000)

/** A process that has connected to the socket. */
struct client {
  struct source source;
  struct timer timer;
};

/** What a client has sent, and the client's socket, whose end tells it that init is done with the files. */
struct files {
  int input, output, socket;
};

static const struct files no_files = {-1, -1, -1};
static struct files current = {-1, -1, -1}, waiting = {-1, -1, -1};
static struct client clients[MAX_CLIENTS];
static struct source listener = {.fd = -1};
static struct timer expiry;
static char token[TOKEN_SIZE];

static void on_socket(struct source *source);
static void on_client(struct source *source);

bool is_pod(void) { return listener.fd >= 0; }

static void close_client(struct client *client) {
  clear_timer(&client->timer);
  close_source(&client->source);
}

static void on_client_timer(struct timer *timer) { close_client(container_of(timer, struct client, timer)); }

static void on_expiry(struct timer *timer) {
  (void)timer;
  _exit(0);
}

void set_pod_deadline(uint64_t ms) {
  if (is_pod()) set_timer(&expiry, ms + STAY_MS);
}

/** The name is not in the file system, so that root of an image cannot replace the socket. */
static int open_socket(const char *name, struct sockaddr_un *address, socklen_t *size) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "outrider-%s", name);
  *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
  return length > 60 ? -1 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

void start_pod(char **arguments, int count) {
  struct sockaddr_un address;
  socklen_t size;
  if (count != 3 || strlen(arguments[1]) != TOKEN_SIZE) end_sandbox();
  memcpy(token, arguments[1], TOKEN_SIZE);
  explicit_bzero(arguments[1], TOKEN_SIZE);
  listener.fd = open_socket(arguments[0], &address, &size);
  if (listener.fd < 0 || bind(listener.fd, (struct sockaddr *)&address, size) != 0) end_sandbox();
  if (listen(listener.fd, MAX_CLIENTS) != 0) end_sandbox();
  listener.on_ready = on_socket;
  watch(&listener, EPOLLIN);
  for (int index = 0; index < MAX_CLIENTS; index++) clients[index].source.fd = -1;
  expiry.on_time = on_expiry;
  set_pod_deadline(strtoull(arguments[2], NULL, 10));
}

static void on_socket(struct source *source) {
  int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  struct ucred peer;
  socklen_t size = sizeof peer;
  bool is_trusted = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
  for (int index = 0; is_trusted && index < MAX_CLIENTS; index++) {
    struct client *client = &clients[index];
    if (client->source.fd >= 0) continue;
    client->source = (struct source){.fd = fd, .on_ready = on_client};
    client->timer.on_time = on_client_timer;
    set_timer(&client->timer, CLIENT_MS);
    return watch(&client->source, EPOLLIN);
  }
  close(fd);
}

/** Takes as long for each wrong token. */
static bool is_token(const char *given) {
  unsigned char difference = 0;
  for (size_t index = 0; index < TOKEN_SIZE; index++) difference |= (unsigned char)(given[index] ^ token[index]);
  return difference == 0;
}

/** Returns whether the message has the token and two files. Closes the files of any other message. */
static bool receive(int fd, struct files *files) {
  char given[TOKEN_SIZE];
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(2 * sizeof(int))];
  } control;
  struct iovec data = {.iov_base = given, .iov_len = sizeof given};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t size = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  struct cmsghdr *header = size < 0 ? NULL : CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return false;
  int given_files[2];
  size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  memcpy(given_files, CMSG_DATA(header), count * sizeof(int));
  if (size == TOKEN_SIZE && count == 2 && !(message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) && is_token(given)) {
    files->input = given_files[0];
    files->output = given_files[1];
    return true;
  }
  for (size_t index = 0; index < count; index++) close(given_files[index]);
  return false;
}

static void release_files(struct files *files) {
  if (files->input >= 0) close(files->input);
  if (files->output >= 0) close(files->output);
  if (files->socket >= 0) close(files->socket);
  *files = no_files;
}

static void on_client(struct source *source) {
  struct client *client = container_of(source, struct client, source);
  struct files files = no_files;
  if (!receive(source->fd, &files)) return close_client(client);
  files.socket = source->fd;
  unwatch(source);
  source->fd = -1;
  close_client(client);
  release_files(&waiting);
  waiting = files;
  replace_connection();
}

void take_waiting_connection(void) {
  if (waiting.input < 0) return;
  current = waiting;
  waiting = no_files;
  start_connection(current.input, current.output);
}

/** The connection itself has closed its files. */
void on_pod_disconnected(void) {
  current.input = current.output = -1;
  release_files(&current);
}

static bool read_token(char *given) {
  for (size_t done = 0; done < TOKEN_SIZE;) {
    ssize_t size = read(0, given + done, TOKEN_SIZE - done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    done += (size_t)size;
  }
  return true;
}

static bool send_files(int fd, char *given) {
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(2 * sizeof(int))];
  } control = {0};
  struct iovec data = {.iov_base = given, .iov_len = TOKEN_SIZE};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(2 * sizeof(int));
  memcpy(CMSG_DATA(header), (int[]){0, 1}, 2 * sizeof(int));
  return sendmsg(fd, &message, MSG_NOSIGNAL) == TOKEN_SIZE;
}

int connect_to_pod(const char *name) {
  struct sockaddr_un address;
  socklen_t size;
  struct ucred peer;
  socklen_t peer_size = sizeof peer;
  char given[TOKEN_SIZE];
  if (!read_token(given)) return 1;
  int fd = open_socket(name, &address, &size);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, size) != 0) {
    fprintf(stderr, "outrider-init: the sandbox does not accept connections: %s\n", strerror(errno));
    return 1;
  }
  // Another container of the pod may have taken the name.
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0 || peer.pid != 1) {
    fputs("outrider-init: another process has taken the place of the sandbox's first process.\n", stderr);
    return 1;
  }
  if (!send_files(fd, given)) return 1;
  // Only init may have them open, so that their end is seen.
  close(0);
  close(1);
  while (read(fd, given, 1) < 0 && errno == EINTR) {
  }
  return 0;
}
