#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

/** After a command has exited, its output ends when nothing has arrived for a moment, at the latest after a second. */
#define QUIET_MS 100
#define DRAIN_MS 1000
/** A process that outlives its command can print this much in each interval. Faster ones wait. */
#define DISCARD_BYTES (256u * 1024)
#define DISCARD_INTERVAL_MS 20

static struct output outputs = {.next = &outputs, .previous = &outputs};
static int null_fd = -1;

static void on_output(struct source *source);
static void on_output_timer(struct timer *timer);
static void on_input(struct source *source);

static void watch_output(struct output *output) {
  if (output->closed || (output->timer.active && output->discarding)) return;
  if (output->discarding || (output->credit > 0 && !is_congested())) watch(&output->source, EPOLLIN);
  else unwatch(&output->source);
}

void open_output(struct output *output, int fd, uint32_t id) {
  output->id = id;
  output->credit = WINDOW;
  output->source = (struct source){.fd = fd, .on_ready = on_output};
  output->timer = (struct timer){.on_time = on_output_timer};
  if (fd < 0) {
    output->closed = true;
    send_frame(END, id, NULL, 0);
    return output->on_closed(output);
  }
  output->next = outputs.next;
  output->previous = &outputs;
  outputs.next->previous = output;
  outputs.next = output;
  watch_output(output);
}

/** Closes the reading end, so that a process that still writes gets SIGPIPE. */
void close_output(struct output *output) {
  if (output->closed) return;
  output->closed = true;
  clear_timer(&output->timer);
  close_source(&output->source);
  output->next->previous = output->previous;
  output->previous->next = output->next;
  // The end of a connection that has failed must not look like the end of its data.
  bool is_broken = output->has_failed && is_connection(output->id);
  if (!output->discarding && !is_broken) send_frame(END, output->id, NULL, 0);
  output->on_closed(output);
}

/** Tells the worker that the output has ended. What processes write later is read and discarded. */
static void finish_output(struct output *output) {
  if (output->closed || output->discarding) return;
  output->discarding = true;
  clear_timer(&output->timer);
  send_frame(END, output->id, NULL, 0);
  if (output->is_abandoned || output->is_terminal) close_output(output);
  else watch_output(output);
}

/** Called when no process of the command is left. */
void abandon_output(struct output *output) {
  if (output->closed) return;
  output->is_abandoned = true;
  if (output->discarding) close_output(output);
}

static void discard(struct output *output) {
  if (null_fd < 0) null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  ssize_t size = splice(output->source.fd, NULL, null_fd, NULL, DISCARD_BYTES, SPLICE_F_NONBLOCK);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return close_output(output);
  unwatch(&output->source);
  set_timer(&output->timer, DISCARD_INTERVAL_MS);
}

static void on_output(struct source *source) {
  struct output *output = container_of(source, struct output, source);
  if (output->discarding) return discard(output);
  if (output->credit == 0 || is_congested()) return watch_output(output);
  ssize_t size = send_from(source->fd, output->id, output->credit < MAX_DATA ? output->credit : MAX_DATA);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // A terminal whose last process has exited returns an error instead of the end of the file.
  output->has_failed = size < 0;
  if (size <= 0) return close_output(output);
  output->credit -= (uint32_t)size;
  output->undelivered -= output->undelivered < (size_t)size ? output->undelivered : (size_t)size;
  if (output->draining) output->quiet_at = now_ms() + QUIET_MS;
  watch_output(output);
}

/**
 * Called when the command has exited. Processes that it left behind may still have the output open. Without
 * `deliver_all`, a worker that reads slowly does not get everything that the command has written.
 */
void drain_output(struct output *output, bool deliver_all) {
  if (output->closed || output->draining) return;
  int size = 0;
  if (deliver_all) ioctl(output->source.fd, FIONREAD, &size);
  output->draining = true;
  output->undelivered = size > 0 ? (size_t)size : 0;
  output->quiet_at = now_ms() + QUIET_MS;
  output->drained_at = now_ms() + DRAIN_MS;
  set_timer(&output->timer, QUIET_MS);
}

static void on_output_timer(struct timer *timer) {
  struct output *output = container_of(timer, struct output, timer);
  if (output->discarding) return watch_output(output);
  uint64_t now = now_ms();
  // What the command itself has written is delivered, even if the worker reads slowly.
  if (output->undelivered > 0) return set_timer(timer, QUIET_MS);
  if (now >= output->quiet_at || now >= output->drained_at) return finish_output(output);
  uint64_t until = output->quiet_at < output->drained_at ? output->quiet_at : output->drained_at;
  set_timer(timer, until - now);
}

void credit_output(struct output *output, uint32_t bytes) {
  if (bytes > WINDOW - output->credit) end_sandbox();
  output->credit += bytes;
  watch_output(output);
}

void resume_outputs(void) {
  for (struct output *output = outputs.next; output != &outputs; output = output->next) watch_output(output);
}

void open_input(struct input *input, int fd, uint32_t id) {
  input->id = id;
  input->source = (struct source){.fd = fd, .on_ready = on_input};
  if (fd < 0) close_input(input);
}

void close_input(struct input *input) {
  if (input->closed) return;
  input->closed = true;
  close_source(&input->source);
  free(input->buffer.data);
  input->buffer = (struct buffer){0};
  input->on_closed(input);
}

/** Writes what is buffered. Grants new credit for it in few frames. */
static void flush_input(struct input *input) {
  struct buffer *buffer = &input->buffer;
  while (buffer->end > buffer->start) {
    ssize_t size = write(input->source.fd, buffer->data + buffer->start, buffer->end - buffer->start);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) return close_input(input);
    consume(buffer, (size_t)size);
    input->consumed += (uint32_t)size;
  }
  bool is_empty = buffer->end == buffer->start;
  if (input->consumed >= WINDOW / 4 || (is_empty && input->consumed > 0)) {
    send_number(CREDIT, input->id, input->consumed);
    input->consumed = 0;
  }
  if (!is_empty) watch(&input->source, EPOLLOUT);
  else if (input->ended) close_input(input);
  else unwatch(&input->source);
}

static void on_input(struct source *source) { flush_input(container_of(source, struct input, source)); }

void write_input(struct input *input, const uint8_t *data, size_t size) {
  if (input->closed || input->ended) return;
  if (input->buffer.end - input->buffer.start + size > WINDOW) end_sandbox();
  append(&input->buffer, data, size);
  flush_input(input);
}

void end_input(struct input *input) {
  if (input->closed || input->ended) return;
  input->ended = true;
  flush_input(input);
}
