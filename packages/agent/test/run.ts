import type { EventData } from "@outrider/contract/event";
import type { FollowupMode } from "@outrider/contract/followup";
import { zeroUsage } from "@outrider/contract/run";
import { onTestFinished } from "vitest";
import type { AgentEvent, LogEvent } from "../src/event.ts";
import type { RunFiles } from "../src/files.ts";
import type { ProviderModel } from "../src/models/provider.ts";
import { scriptedModel } from "../src/models/scripted/scripted-model.ts";
import { builtinTools } from "../src/tools/builtin.ts";
import { runTurn, type TurnEnd } from "../src/turn/run-turn.ts";
import type { TurnContext } from "../src/turn/turn-context.ts";
import { type Folder, makeFolder } from "./folder.ts";

export const creator = { type: "user", uid: "somebody", display_name: "Somebody" } as const;

type Options = Partial<
  Pick<
    TurnContext,
    | "prices"
    | "limits"
    | "budget"
    | "usage"
    | "emit"
    | "instructions"
    | "signal"
    | "takeMessages"
    | "timeIsUp"
    | "model_facts"
    | "output_schema"
    | "tools"
    | "model_id"
    | "checks"
  >
>;

/** A run with what its worker and the engine provide: a numbered log, waiting messages and signals. */
export class TestRun {
  readonly log: LogEvent[] = [];
  readonly folder: Folder;
  readonly stored = new Map<string, { name: string; mime_type: string; data: Uint8Array }>();
  readonly attachments = new Map<string, Uint8Array>();
  readonly #files: RunFiles = {
    storeArtifact: async (file) => {
      const id = `artifact-${this.stored.size + 1}`;
      this.stored.set(id, file);
      return id;
    },
    readArtifact: async (id) => this.stored.get(id)?.data as Uint8Array,
    readAttachment: async (id) => this.attachments.get(id) as Uint8Array,
  };
  readonly cancel = new AbortController();
  model: ProviderModel = scriptedModel();
  said = "";

  #waiting: { followup_id: string; message: string; mode: FollowupMode }[] = [];
  #interrupt = new AbortController();
  #followups = 0;
  readonly #watchers = new Set<() => void>();

  constructor(prompt: string, folder: Folder) {
    this.folder = folder;
    this.write({ type: "run.created", data: { title: "A run", prompt, source: "API", creator } });
    this.claim();
  }

  write(event: LogEvent) {
    this.log.push({ ...event, seq: this.log.length + 1 });
    for (const watcher of this.#watchers) watcher();
  }

  claim() {
    this.write({ type: "run.claimed", data: { worker: "worker" } });
  }

  /** Simulates the loss of the worker; another one continues with the stored files. */
  recover(snapshot: { restored_seq?: number } = {}) {
    this.write({ type: "run.recovering", data: { reason: "The worker was lost.", ...snapshot } });
    this.claim();
  }

  send(message: string, mode: FollowupMode = "auto") {
    this.#followups += 1;
    this.#waiting.push({ followup_id: `followup-${this.#followups}`, message, mode });
    if (mode === "interrupt") this.#interrupt.abort();
  }

  /** Writes what the engine writes when an ended run continues. */
  reopen(message: string) {
    this.write({ type: "run.reopened", data: { followup_id: "next", mode: "auto", by: creator } });
    this.claim();
    this.send(message);
  }

  /** Like a worker: if messages wait, the end is rejected and the turn starts again with them in the log. */
  async turn(options: Options = {}): Promise<TurnEnd> {
    for (;;) {
      const end = await this.#tryTurn(options);
      if (end.type === "stopped" || this.#waiting.length === 0) return end;
      this.#take();
    }
  }

  #tryTurn(options: Options): Promise<TurnEnd> {
    const usage = this.all("usage.updated").at(-1) ?? zeroUsage;
    return runTurn({
      model: this.model,
      model_id: "scripted",
      model_facts: { context_tokens: 200_000, supports_images: true },
      tools: builtinTools,
      instructions: "Be brief.",
      history: [...this.log],
      workspace: this.folder,
      files: this.#files,
      emit: async (event: AgentEvent) => {
        this.write(event);
        return event;
      },
      delta: (text) => {
        this.said += text;
      },
      takeMessages: async () => this.#take(),
      interrupt: () => this.#interrupt.signal,
      timeIsUp: new AbortController().signal,
      limits: { max_steps: 50 },
      usage,
      signal: this.cancel.signal,
      ...options,
    });
  }

  all<T extends LogEvent["type"]>(type: T): EventData<T>[] {
    return this.log.filter((event) => event.type === type).map(({ data }) => data as EventData<T>);
  }

  get types(): string[] {
    return this.log.map(({ type }) => type);
  }

  /** Resolves with the first matching event as soon as it is written. */
  async seen(matches: (event: LogEvent) => boolean): Promise<LogEvent> {
    for (;;) {
      const found = this.log.find(matches);
      if (found) return found;
      await new Promise<void>((resolve) => {
        const watcher = () => {
          this.#watchers.delete(watcher);
          resolve();
        };
        this.#watchers.add(watcher);
      });
    }
  }

  #take() {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#interrupt = new AbortController();
    for (const { followup_id, message, mode } of taken) {
      this.write({ type: "message.user", data: { text: message, followup_id, mode } });
    }
    return taken;
  }
}

export async function newRun(...lines: string[]): Promise<TestRun> {
  const folder = await makeFolder();
  onTestFinished(() => folder.remove());
  return new TestRun(lines.join("\n"), folder);
}
