import { limits } from "@outrider/contract/limits";
import { APIStatusError, type RunEvent } from "@outrider/sdk";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { onReconnected } from "../../../frame/connection.ts";
import { Blocks } from "./blocks.ts";
import { EventCache } from "./event-cache.ts";
import type { LogSource } from "./log-source.ts";
import { LogSummary } from "./log-summary.ts";
import type { LogStatus, LogView } from "./log-view.ts";

const MAX_STREAMING = 200_000;
const MIN_DELAY_MS = 1_000;
const MAX_DELAY_MS = 15_000;
/** Finished runs are also polled, because they can be continued elsewhere. */
const POLL_MS = 10_000;

/**
 * Follows a run's log from its first event. It reads pages up to the end of the log, then follows the stream, and
 * starts over when the stream breaks. Every event is processed exactly once and in order, even after connection errors.
 * Temporary errors are retried with an increasing delay. After a client error, such as a deleted run, it stops until
 * `wake` is called.
 */
export class RunLog {
  readonly #source: LogSource;
  readonly #blocks = new Blocks();
  readonly #summary = new LogSummary();
  readonly #cache: EventCache;
  readonly #listeners = new Set<() => void>();
  #lastSeq = 0;
  #status: LogStatus = "loading";
  #error: unknown;
  #errors: readonly number[] = [];
  #view: LogView;
  #frame: ReturnType<typeof setTimeout> | undefined;
  #following: AbortController | undefined;
  #wakeUp: (() => void) | undefined;
  #stopWaking: (() => void) | undefined;

  constructor(source: LogSource) {
    this.#source = source;
    this.#cache = new EventCache(source, this.#blocks);
    this.#view = this.#snapshot();
  }

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  readonly view = () => this.#view;

  start() {
    if (this.#following) return;
    this.#following = new AbortController();
    this.#stopWaking = onReconnected(this.#wake);
    void this.#follow(this.#following.signal);
  }

  stop() {
    this.#stopWaking?.();
    this.#following?.abort();
    this.#following = undefined;
    this.#wake();
  }

  readonly #wake = () => this.#wakeUp?.();

  async #follow(signal: AbortSignal) {
    let pause = MIN_DELAY_MS;
    while (!signal.aborted) {
      const before = this.#lastSeq;
      try {
        await this.#read(signal);
        if (signal.aborted) return;
        // The status of a finished run remains `ended` while it is polled.
        if (this.#status !== "ended") this.#setStatus("live");
        await this.#listen(signal);
        if (signal.aborted) return;
        this.#setStatus("ended");
        pause = MIN_DELAY_MS;
        await this.#sleep(POLL_MS);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof APIStatusError && error.status < 500 && error.status !== 429) {
          this.#setStatus("failed", error);
          await this.#sleep(Infinity);
          continue;
        }
        this.#setStatus("reconnecting", error);
        pause = this.#lastSeq > before ? MIN_DELAY_MS : Math.min(pause * 2, MAX_DELAY_MS);
        await this.#sleep(pause);
      }
    }
  }

  /** Reads the existing events in pages, which is much faster than streaming them. */
  async #read(signal: AbortSignal) {
    for (;;) {
      const events = await this.#source.page(this.#lastSeq, limits.eventPageSize.max, signal);
      if (signal.aborted) return;
      for (const event of events) this.#add(event);
      // Listeners are also notified after the last page, because a turn that started and ended between two polls has no
      // stream.
      if (events.length > 0) this.#changed();
      if (events.length < limits.eventPageSize.max) return;
    }
  }

  async #listen(signal: AbortSignal) {
    for await (const event of this.#source.stream(this.#lastSeq, signal)) {
      if (signal.aborted) return;
      if (this.#status !== "live") this.#setStatus("live");
      if (event.type === "message.agent.delta") {
        this.#summary.streamingText = (this.#summary.streamingText + event.data.text).slice(-MAX_STREAMING);
      } else {
        if (event.seq > this.#lastSeq + 1) await this.#read(signal);
        this.#add(event);
      }
      this.#changed();
    }
  }

  #add(event: RunEvent) {
    if (event.seq !== this.#lastSeq + 1) return;
    this.#lastSeq = event.seq;
    this.#blocks.add(event);
    this.#summary.add(event);
    this.#cache.add(event);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === Infinity ? undefined : setTimeout(resolve, ms);
      this.#wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #setStatus(status: LogStatus, error?: unknown) {
    if (status === this.#status && error === this.#error) return;
    this.#status = status;
    this.#error = error;
    this.#changed();
  }

  /** Notifies listeners, at most once per frame. */
  #changed() {
    this.#frame ??= setTimeout(() => {
      this.#frame = undefined;
      this.#view = this.#snapshot();
      for (const notify of this.#listeners) notify();
      this.#cache.notify();
    }, 32);
  }

  #snapshot(): LogView {
    const { milestones, plan, usage, streamingText } = this.#summary;
    return {
      status: this.#status,
      error: this.#error,
      lastSeq: this.#lastSeq,
      turns: this.#blocks.turns,
      milestones,
      plan,
      usage,
      streamingText,
      errors: this.#failed(),
      wake: this.#wake,
      count: this.#blocks.count,
      blocks: this.#blocks,
      cache: this.#cache,
      source: this.#source,
    };
  }

  #failed(): readonly number[] {
    const seqs: number[] = [];
    for (let block = 0; block < this.#blocks.count; block++) {
      if (this.#blocks.isFailed(block)) seqs.push(this.#blocks.first(block));
    }
    // The same array is returned if nothing was added, so that React does not render it again.
    if (seqs.length !== this.#errors.length) this.#errors = seqs;
    return this.#errors;
  }
}

/** Follows the log while the component is mounted. Callers must pass the same source object on every render. */
export function useRunLog(source: LogSource): LogView {
  const log = useMemo(() => new RunLog(source), [source]);
  useEffect(() => {
    log.start();
    return () => log.stop();
  }, [log]);
  return useSyncExternalStore(log.subscribe, log.view);
}
