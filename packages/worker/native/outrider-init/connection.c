#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define HEADER_SIZE 12
/** Output is read only while less than this is waiting to be sent. */
#define CONGESTED_AT (256u * 1024)

static void on_connection(struct source *source);
static void on_output_ready(struct source *source);
static void add_frame(uint32_t type, uint32_t id, const void *payload, size_t size);
static struct source connection = {.fd = -1, .on_ready = on_connection};
/** The file for frames to the worker, if it is not the one from which its frames are read. */
static struct source output_file = {.fd = -1, .on_ready = on_output_ready};
static struct buffer incoming, outgoing;
/** Whether the worker has configured init. Otherwise, nothing runs, and nothing is sent. */
static bool is_configured;
/** How often init was configured. The worker learns from it whether a container has started again. */
static uint32_t configurations;
/** Whether all commands are being ended, in a pod. */
static bool is_ending;
/** Whether the worker reads too slowly, so that the rest waits until epoll reports that it can be written. */
static bool is_blocked;
static struct timer deadline;

/** Returns room for `size` more bytes at the end of the buffer. */
uint8_t *reserve(struct buffer *buffer, size_t size) {
  if (buffer->capacity - buffer->end < size && buffer->start > 0) {
    memmove(buffer->data, buffer->data + buffer->start, buffer->end - buffer->start);
    buffer->end -= buffer->start;
    buffer->start = 0;
  }
  if (buffer->capacity - buffer->end < size) {
    size_t capacity = buffer->capacity ? buffer->capacity : 16384;
    while (capacity - buffer->end < size) capacity *= 2;
    uint8_t *data = realloc(buffer->data, capacity);
    if (!data) end_sandbox();
    buffer->data = data;
    buffer->capacity = capacity;
  }
  return buffer->data + buffer->end;
}

void append(struct buffer *buffer, const void *data, size_t size) {
  if (size == 0) return;
  memcpy(reserve(buffer, size), data, size);
  buffer->end += size;
}

void consume(struct buffer *buffer, size_t size) {
  buffer->start += size;
  if (buffer->start < buffer->end) return;
  buffer->start = buffer->end = 0;
  if (buffer->capacity > 2 * CONGESTED_AT) {
    free(buffer->data);
    *buffer = (struct buffer){0};
  }
}

static uint32_t read_u32(const uint8_t *data) {
  return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

static void write_u32(uint8_t *data, uint32_t value) {
  for (int index = 0; index < 4; index++) data[index] = (uint8_t)(value >> (8 * index));
}

uint32_t take_u32(struct payload *payload) {
  if (payload->size < 4) end_sandbox();
  uint32_t value = read_u32(payload->data);
  payload->data += 4;
  payload->size -= 4;
  return value;
}

uint64_t take_u64(struct payload *payload) {
  uint64_t low = take_u32(payload);
  return low | (uint64_t)take_u32(payload) << 32;
}

const char *take_string(struct payload *payload) {
  const uint8_t *end = memchr(payload->data, 0, payload->size);
  if (!end) end_sandbox();
  const char *string = (const char *)payload->data;
  payload->size -= (size_t)(end + 1 - payload->data);
  payload->data = end + 1;
  return string;
}

static size_t waiting(void) { return outgoing.end - outgoing.start; }
bool is_congested(void) { return waiting() >= CONGESTED_AT; }

/** Ends all commands. Without them, init waits for the next worker that configures it. */
static void reset(void) {
  is_configured = false;
  is_ending = true;
  clear_timer(&deadline);
  close_listeners();
  end_freeze();
  end_commands();
}

/** Without its connection, the sandbox ends. A pod waits for the next connection. */
static void disconnect(void) {
  if (!is_pod()) end_sandbox();
  close_source(&connection);
  close_source(&output_file);
  consume(&incoming, incoming.end - incoming.start);
  consume(&outgoing, outgoing.end - outgoing.start);
  is_blocked = false;
  on_pod_disconnected();
  if (!is_ending) reset();
}

/** Called when the worker's next connection replaces this one. */
void replace_connection(void) {
  if (connection.fd >= 0) disconnect();
  if (!is_ending) take_waiting_connection();
}

void on_commands_ended(void) {
  is_ending = false;
  if (connection.fd >= 0) return add_frame(COMMANDS_ENDED, 0, NULL, 0);
  take_waiting_connection();
}

/** Sends what is waiting. The loop calls it when there is nothing else to do, so that small frames travel together. */
static void flush(void) {
  bool was_congested = is_congested();
  while (waiting() > 0) {
    ssize_t written = write(output_file.fd < 0 ? connection.fd : output_file.fd, outgoing.data + outgoing.start, waiting());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (written <= 0) return disconnect();
    consume(&outgoing, (size_t)written);
  }
  is_blocked = waiting() > 0;
  if (output_file.fd < 0) watch(&connection, EPOLLIN | (is_blocked ? EPOLLOUT : 0));
  else if (is_blocked) watch(&output_file, EPOLLOUT);
  else unwatch(&output_file);
  if (was_congested && !is_congested()) {
    resume_outputs();
    resume_listeners();
  }
}

bool flush_when_idle(bool is_idle) {
  if (connection.fd < 0 || is_blocked || waiting() == 0 || (!is_idle && !is_congested())) return false;
  flush();
  return true;
}

static void write_header(uint8_t *header, uint32_t type, uint32_t id, size_t size) {
  write_u32(header, (uint32_t)size);
  write_u32(header + 4, type);
  write_u32(header + 8, id);
}

static void add_frame(uint32_t type, uint32_t id, const void *payload, size_t size) {
  write_header(reserve(&outgoing, HEADER_SIZE + size), type, id, size);
  outgoing.end += HEADER_SIZE;
  append(&outgoing, payload, size);
}

void send_frame(uint32_t type, uint32_t id, const void *payload, size_t size) {
  if (is_configured) add_frame(type, id, payload, size);
}

void send_pair(uint32_t type, uint32_t id, uint32_t first, uint32_t second) {
  uint8_t payload[8];
  write_u32(payload, first);
  write_u32(payload + 4, second);
  send_frame(type, id, payload, sizeof payload);
}

void send_number(uint32_t type, uint32_t id, uint32_t number) {
  uint8_t payload[4];
  write_u32(payload, number);
  send_frame(type, id, payload, sizeof payload);
}

ssize_t send_from(int fd, uint32_t id, size_t max) {
  uint8_t *header = reserve(&outgoing, HEADER_SIZE + max);
  ssize_t size = read(fd, header + HEADER_SIZE, max);
  if (size <= 0) return size;
  write_header(header, DATA, id, (size_t)size);
  outgoing.end += HEADER_SIZE + (size_t)size;
  return size;
}

/** Ends the sandbox, or everything in a pod except its files. */
static void on_deadline(struct timer *timer) {
  (void)timer;
  disconnect();
}

static void move_deadline(uint64_t ms) {
  set_timer(&deadline, ms);
  set_pod_deadline(ms);
}

static struct output *find_output(uint32_t id) {
  struct output *output = find_command_output(id);
  return output ? output : find_connection_output(id);
}

static struct input *find_input(uint32_t id) {
  struct input *input = find_command_input(id);
  return input ? input : find_connection_input(id);
}

/** Frames for a stream or command that has ended in the meantime are ignored. */
static void on_stream_frame(uint32_t type, uint32_t id, struct payload payload) {
  struct output *output = find_output(id);
  struct input *input = find_input(id);
  switch (type) {
  case DATA:
    if (input) write_input(input, payload.data, payload.size);
    return;
  case END:
    if (input) end_input(input);
    return;
  case CREDIT:
    if (output) credit_output(output, take_u32(&payload));
    return;
  case RESET:
    if (is_connection(id)) reset_connection(id, take_u32(&payload) != 0);
    else if (output) close_output(output);
    else if (input) close_input(input);
    return;
  default:
    end_sandbox();
  }
}

static void on_frame(uint32_t type, uint32_t id, struct payload payload) {
  if (is_ending) return; // the worker has sent it before it learned of the end
  if (is_configured == (type == CONFIGURE)) end_sandbox();
  switch (type) {
  case CONFIGURE:
    is_configured = true;
    deadline.on_time = on_deadline;
    move_deadline(take_u64(&payload));
    configure(&payload);
    send_frame(READY, configurations++, NULL, 0);
    return;
  case DEADLINE:
    move_deadline(take_u64(&payload));
    return send_frame(DONE, id, NULL, 0);
  case FREEZE:
    return freeze(id);
  case THAW:
    return thaw(id);
  case START:
    return start_command(id, &payload);
  case KILL:
    return kill_command(id);
  case RESIZE:
    return resize_command(id, &payload);
  case LISTEN:
    return listen_on(id, &payload);
  case COUNT_LIMITS:
    return count_limits(id);
  case END_COMMANDS:
    return reset();
  default:
    return on_stream_frame(type, id, payload);
  }
}

static void on_output_ready(struct source *source) {
  (void)source;
  flush();
}

static void on_connection(struct source *source) {
  if (is_blocked && output_file.fd < 0) flush();
  if (connection.fd < 0) return;
  size_t room = MAX_DATA + HEADER_SIZE;
  ssize_t size = read(source->fd, reserve(&incoming, room), room);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return disconnect(); // the worker has exited
  incoming.end += (size_t)size;
  while (incoming.end - incoming.start >= HEADER_SIZE) {
    const uint8_t *header = incoming.data + incoming.start;
    uint32_t length = read_u32(header);
    if (length > MAX_PAYLOAD) end_sandbox();
    if (incoming.end - incoming.start < HEADER_SIZE + (size_t)length) break;
    struct payload payload = {header + HEADER_SIZE, length};
    on_frame(read_u32(header + 4), read_u32(header + 8), payload);
    consume(&incoming, HEADER_SIZE + (size_t)length);
  }
}

static void prepare_file(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void start_connection(int input_fd, int output_fd) {
  connection.fd = input_fd;
  output_file.fd = output_fd;
  prepare_file(connection.fd);
  if (output_fd >= 0) prepare_file(output_fd);
  watch(&connection, EPOLLIN);
}
