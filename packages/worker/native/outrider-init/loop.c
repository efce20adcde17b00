#include "init.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static int epoll_fd = -1;
static struct timer timers = {.next = &timers, .previous = &timers};

void end_sandbox(void) { _exit(1); }

void *allocate(size_t size) {
  void *memory = calloc(1, size);
  if (!memory) end_sandbox();
  return memory;
}

void watch(struct source *source, uint32_t events) {
  if (epoll_fd < 0) epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = events, .data.ptr = source};
  int operation = source->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(epoll_fd, operation, source->fd, &event) != 0) end_sandbox();
  source->watched = true;
}

/** Removes the file, because epoll would still report a hang-up of a file that it watches for no event. */
void unwatch(struct source *source) {
  if (!source->watched) return;
  source->watched = false;
  epoll_ctl(epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

void close_source(struct source *source) {
  if (source->fd < 0) return;
  unwatch(source);
  close(source->fd);
  source->fd = -1;
}

uint64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

void set_timer(struct timer *timer, uint64_t ms) {
  clear_timer(timer);
  timer->at = now_ms() + ms;
  timer->active = true;
  timer->next = timers.next;
  timer->previous = &timers;
  timers.next->previous = timer;
  timers.next = timer;
}

void clear_timer(struct timer *timer) {
  if (!timer->active) return;
  timer->active = false;
  timer->next->previous = timer->previous;
  timer->previous->next = timer->next;
}

static struct timer *next_timer(void) {
  struct timer *next = NULL;
  for (struct timer *timer = timers.next; timer != &timers; timer = timer->next) {
    if (!next || timer->at < next->at) next = timer;
  }
  return next;
}

/** Handles one event at a time, so that a handler may close any other file or timer. */
void run_loop(void) {
  for (;;) {
    struct timer *timer = next_timer();
    uint64_t now = timer ? now_ms() : 0;
    if (timer && timer->at <= now) {
      clear_timer(timer);
      timer->on_time(timer);
      continue;
    }
    uint64_t wait = timer ? timer->at - now : 0;
    struct epoll_event event;
    int count = epoll_wait(epoll_fd, &event, 1, 0);
    if (flush_when_idle(count == 0) && count == 0) continue;
    if (count == 0) count = epoll_wait(epoll_fd, &event, 1, !timer || wait > 60000 ? 60000 : (int)wait);
    if (count < 0 && errno != EINTR) end_sandbox();
    if (count > 0) {
      struct source *source = event.data.ptr;
      source->on_ready(source);
    }
  }
}
