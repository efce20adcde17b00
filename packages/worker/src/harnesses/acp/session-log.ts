import type { LogEvent } from "@outrider/agent/event";
import type { RunFiles } from "@outrider/agent/files";
import type { RunWorkspace } from "../../workspace/workspace.ts";
import type { TurnIo } from "../harness.ts";
import { hasWork, summarizeLog } from "./handover.ts";
import type { Prompt } from "./profile.ts";
import { readSessionRecord, type SessionRecord, writeSessionRecord } from "./session-record.ts";
import { listUnseen } from "./unseen-events.ts";
import { UserPrompts } from "./user-prompt.ts";

type Message = Awaited<ReturnType<TurnIo["takeMessages"]>>[number];

/** A new session gets at most this much of the earlier messages, because they must fit in the model's context. */
const MAX_MESSAGE_CHARACTERS = 400_000;
const omittedNote = "[Outrider: handover] Earlier messages of the user are omitted.";

interface SessionLogOptions {
  workspace: RunWorkspace;
  files: RunFiles;
  harness: string;
}

/** The run's log during a turn, and what the agent's session has seen of it. */
export class SessionLog {
  readonly #options: SessionLogOptions;
  readonly #events: LogEvent[];
  #prompts = new UserPrompts({ takesImages: false });
  #stored: SessionRecord | undefined;
  /** What the session has seen once it has made another model call. */
  #record: SessionRecord | undefined;

  constructor(history: readonly LogEvent[], options: SessionLogOptions) {
    this.#options = options;
    this.#events = [...history];
  }

  /** Whether the agent has done anything in this run. */
  get hasWork(): boolean {
    return hasWork(this.#events);
  }

  add(event: LogEvent) {
    this.#events.push(event);
  }

  addMessage({ followup_id, message, mode, attachments }: Message) {
    this.add({ type: "message.user", data: { text: message, followup_id, mode, attachments } });
  }

  /** Returns the id of the session that the agent can load. */
  async readSessionId(): Promise<string | undefined> {
    const record = await readSessionRecord(await this.#options.workspace.open());
    this.#stored = record?.harness === this.#options.harness ? record : undefined;
    return this.#stored?.session_id;
  }

  /** Stores what the session has seen. Call it when the agent has processed its prompts. */
  async save(): Promise<void> {
    const record = this.#record;
    if (!record || record === this.#stored) return;
    this.#stored = record;
    await writeSessionRecord(await this.#options.workspace.open(), record);
  }

  /** Returns everything that the session has not seen, as its next prompt. It is empty if there is nothing. */
  async firstPrompt(
    session_id: string,
    { isLoaded, takesImages }: { isLoaded: boolean; takesImages: boolean },
  ): Promise<Prompt> {
    this.#prompts = new UserPrompts({ takesImages });
    this.#prompts.readLog(this.#events);
    const seen = isLoaded ? this.#stored : undefined;
    const unseen = listUnseen(this.#events, seen);
    const prompt: Prompt = [];
    let characters = 0;
    for (const part of unseen.toReversed()) {
      // The summary describes how earlier work of a lost session ended.
      if (part.type === "note" && isLoaded) prompt.unshift({ type: "text", text: part.text });
      if (part.type !== "message") continue;
      characters += textOf(part.event).length;
      if (characters > MAX_MESSAGE_CHARACTERS && prompt.length > 0) {
        prompt.unshift({ type: "text", text: omittedNote });
        break;
      }
      prompt.unshift(...(await this.#toBlocks(part.event)));
    }
    if (!isLoaded && this.hasWork) prompt.push({ type: "text", text: summarizeLog(this.#events) });
    const { harness } = this.#options;
    const seq = this.#events.findLast((event) => event.seq !== undefined)?.seq ?? 0;
    const followup_ids = this.#events.flatMap((event) =>
      event.type === "message.user" && event.seq === undefined ? [event.data.followup_id] : [],
    );
    this.#record = { harness, session_id, seq, followup_ids };
    return prompt;
  }

  /** Returns messages that have just arrived as a prompt. */
  async toPrompt(messages: readonly Message[]): Promise<Prompt> {
    const prompt: Prompt = [];
    for (const { message, attachments } of messages)
      prompt.push(...(await this.#prompts.toPrompt({ text: message, attachments }, this.#options.files)));
    if (this.#record) {
      const followup_ids = messages.map(({ followup_id }) => followup_id);
      this.#record = { ...this.#record, followup_ids: [...this.#record.followup_ids, ...followup_ids] };
    }
    return prompt;
  }

  #toBlocks(event: UserEvent): Promise<Prompt> {
    const { attachments } = event.data;
    return this.#prompts.toPrompt({ text: textOf(event), attachments }, this.#options.files);
  }
}

type UserEvent = Extract<LogEvent, { type: "message.user" | "run.created" }>;

function textOf(event: UserEvent): string {
  return event.type === "run.created" ? event.data.prompt : event.data.text;
}
