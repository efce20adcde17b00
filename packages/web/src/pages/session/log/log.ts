import { APIStatusError, type RunEvent } from "@outrider/sdk";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { Blocks } from "./blocks.ts";
import { Bodies } from "./bodies.ts";
import { Facts } from "./facts.ts";
import type { LogSource } from "./source.ts";
import type { LogStatus, LogView } from "./view.ts";

const READ = 1_000;
const SPOKEN = 200_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;
/** An ended run may be reopened by somebody else. */
const LOOK_AGAIN_MS = 10_000;

/** Follows a run's log from its first event on: every event passes once, in order, whatever breaks in between. */
export class RunLog {
  readonly #source: LogSource;
  readonly #blocks = new Blocks();
  readonly #facts = new Facts();
  readonly #bodies: Bodies;
  readonly #listeners = new Set<() => void>();
  #lastSeq = 0;
  #status: LogStatus = "loading";
  #error: unknown;
  #errors: readonly number[] = [];
  #view: LogView;
  #frame: ReturnType<typeof setTimeout> | undefined;
  #following: AbortController | undefined;
  #wakeUp: (() => void) | undefined;

  constructor(source: LogSource) {
    this.#source = source;
    this.#bodies = new Bodies(source, this.#blocks);
    this.#view = this.#look();
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
    addEventListener("online", this.#wake);
    void this.#follow(this.#following.signal);
  }

  stop() {
    removeEventListener("online", this.#wake);
    this.#following?.abort();
    this.#following = undefined;
    this.#wake();
  }

  readonly #wake = () => this.#wakeUp?.();

  async #follow(signal: AbortSignal) {
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const before = this.#lastSeq;
      try {
        await this.#read(signal);
        if (signal.aborted) return;
        // Who looks in vain every few seconds whether an ended run goes on does not have to say so.
        if (this.#status !== "ended") this.#say("live");
        await this.#listen(signal);
        if (signal.aborted) return;
        this.#say("ended");
        pause = FIRST_PAUSE_MS;
        await this.#rest(LOOK_AGAIN_MS);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof APIStatusError && error.status < 500 && error.status !== 429) {
          this.#say("failed", error);
          await this.#rest(Infinity);
          continue;
        }
        this.#say("reconnecting", error);
        pause = this.#lastSeq > before ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS);
        await this.#rest(pause);
      }
    }
  }

  /** What has happened so far: by pages, which is much quicker than one by one. */
  async #read(signal: AbortSignal) {
    for (;;) {
      const events = await this.#source.page(this.#lastSeq, READ, signal);
      if (signal.aborted) return;
      for (const event of events) this.#add(event);
      // Also for the last page: a turn that began and ended between two looks leaves no stream that would say so.
      if (events.length > 0) this.#changed();
      if (events.length < READ) return;
    }
  }

  async #listen(signal: AbortSignal) {
    for await (const event of this.#source.stream(this.#lastSeq, signal)) {
      if (signal.aborted) return;
      if (this.#status !== "live") this.#say("live");
      if (event.type === "message.agent.delta") {
        this.#facts.speaking = (this.#facts.speaking + event.data.text).slice(-SPOKEN);
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
    this.#facts.add(event);
    this.#bodies.add(event);
  }

  #rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === Infinity ? undefined : setTimeout(resolve, ms);
      this.#wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #say(status: LogStatus, error?: unknown) {
    if (status === this.#status && error === this.#error) return;
    this.#status = status;
    this.#error = error;
    this.#changed();
  }

  /** Once a frame at most, however fast events come. */
  #changed() {
    this.#frame ??= setTimeout(() => {
      this.#frame = undefined;
      this.#view = this.#look();
      for (const tell of this.#listeners) tell();
      this.#bodies.tell();
    }, 32);
  }

  #look(): LogView {
    const { milestones, plan, usage, files, speaking } = this.#facts;
    return {
      status: this.#status,
      error: this.#error,
      lastSeq: this.#lastSeq,
      turns: this.#blocks.turns,
      milestones,
      plan,
      usage,
      files,
      speaking,
      errors: this.#failed(),
      wake: this.#wake,
      count: this.#blocks.count,
      blocks: this.#blocks,
      bodies: this.#bodies,
      source: this.#source,
    };
  }

  #failed(): readonly number[] {
    const seqs: number[] = [];
    for (let block = 0; block < this.#blocks.count; block++) {
      if (this.#blocks.isFailed(block)) seqs.push(this.#blocks.first(block));
    }
    // The same list where nothing was added, so that who shows it need not draw it again.
    if (seqs.length !== this.#errors.length) this.#errors = seqs;
    return this.#errors;
  }
}

/** Follows as long as the component is shown. The source has to stay the same object between renders. */
export function useRunLog(source: LogSource): LogView {
  const log = useMemo(() => new RunLog(source), [source]);
  useEffect(() => {
    log.start();
    return () => log.stop();
  }, [log]);
  return useSyncExternalStore(log.subscribe, log.view);
}
