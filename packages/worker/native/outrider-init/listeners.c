#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CONNECTIONS 512
/** Ids of connections are above those that the worker chooses. */
#define FIRST_CONNECTION_ID 0x80000000u

struct listener {
  struct source source;
  struct listener *next;
  uint32_t id;
};

struct connection {
  struct connection *next, *previous;
  uint32_t id;
  struct output output;
  struct input input;
  struct timer release_timer;
};

static struct listener *listeners;
static struct connection connections = {.next = &connections, .previous = &connections};
static uint32_t connection_count, last_id = FIRST_CONNECTION_ID;

/** How long to wait before the next attempt if a connection cannot be accepted, because too many files are open. */
#define RETRY_MS 100

static void on_listener(struct source *source);
static void on_retry_timer(struct timer *timer);
static struct timer retry_timer = {.on_time = on_retry_timer};
static bool can_accept(void) { return connection_count < MAX_CONNECTIONS && !is_congested(); }

void listen_on(uint32_t id, struct payload *payload) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(take_u32(payload));
  address.sin_port = htons((uint16_t)take_u32(payload));
  struct listener *listener = allocate(sizeof *listener);
  int yes = 1, error = 0;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 128) != 0) error = errno;
  send_number(LISTENING, id, (uint32_t)error);
  if (error) {
    if (fd >= 0) close(fd);
    free(listener);
    return;
  }
  listener->id = id;
  listener->source = (struct source){.fd = fd, .on_ready = on_listener};
  listener->next = listeners;
  listeners = listener;
  watch(&listener->source, EPOLLIN);
}

void resume_listeners(void) {
  if (!can_accept()) return;
  for (struct listener *listener = listeners; listener; listener = listener->next) watch(&listener->source, EPOLLIN);
}

void close_listeners(void) {
  clear_timer(&retry_timer);
  while (listeners) {
    struct listener *listener = listeners;
    listeners = listener->next;
    close_source(&listener->source);
    free(listener);
  }
  for (struct connection *each = connections.next; each != &connections; each = each->next) {
    close_input(&each->input);
    close_output(&each->output);
  }
}

static void on_retry_timer(struct timer *timer) {
  (void)timer;
  resume_listeners();
}

/** The worker learns that a connection is closed when both directions are. */
static void on_release_timer(struct timer *timer) {
  struct connection *connection = container_of(timer, struct connection, release_timer);
  if (!connection->output.closed || !connection->input.closed) return;
  send_frame(CLOSED, connection->id, NULL, 0);
  connection->next->previous = connection->previous;
  connection->previous->next = connection->next;
  free(connection);
  connection_count--;
  resume_listeners();
}

static void on_output_closed(struct output *output) {
  struct connection *connection = container_of(output, struct connection, output);
  if (output->has_failed) close_input(&connection->input);
  set_timer(&connection->release_timer, 0);
}

static void on_input_closed(struct input *input) {
  struct connection *connection = container_of(input, struct connection, input);
  if (!connection->output.closed && input->ended) shutdown(connection->output.source.fd, SHUT_WR);
  set_timer(&connection->release_timer, 0);
}

static void on_listener(struct source *source) {
  struct listener *listener = container_of(source, struct listener, source);
  if (!can_accept()) return unwatch(source);
  int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    unwatch(source);
    return set_timer(&retry_timer, RETRY_MS);
  }
  // Both directions have a file of their own, so that closing one does not end the other.
  int other = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (other < 0) {
    close(fd);
    return;
  }
  struct connection *connection = allocate(sizeof *connection);
  connection->id = last_id++;
  if (last_id == 0) last_id = FIRST_CONNECTION_ID;
  connection->release_timer.on_time = on_release_timer;
  connection->output.on_closed = on_output_closed;
  connection->input.on_closed = on_input_closed;
  connection->next = connections.next;
  connection->previous = &connections;
  connections.next->previous = connection;
  connections.next = connection;
  connection_count++;
  send_number(ACCEPTED, connection->id, listener->id);
  open_input(&connection->input, other, connection->id);
  open_output(&connection->output, fd, connection->id);
}

static struct connection *find_connection(uint32_t id) {
  for (struct connection *connection = connections.next; connection != &connections; connection = connection->next) {
    if (connection->id == id) return connection;
  }
  return NULL;
}

struct output *find_connection_output(uint32_t id) {
  struct connection *connection = find_connection(id);
  return connection && !connection->output.closed ? &connection->output : NULL;
}

struct input *find_connection_input(uint32_t id) {
  struct connection *connection = find_connection(id);
  return connection && !connection->input.closed ? &connection->input : NULL;
}

bool is_connection(uint32_t id) { return id >= FIRST_CONNECTION_ID; }

void reset_connection(uint32_t id, bool is_error) {
  struct connection *connection = find_connection(id);
  if (!connection) return;
  struct linger linger = {.l_onoff = 1, .l_linger = 0};
  int fd = connection->output.closed ? connection->input.source.fd : connection->output.source.fd;
  if (is_error && fd >= 0) setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
  close_input(&connection->input);
  close_output(&connection->output);
}
