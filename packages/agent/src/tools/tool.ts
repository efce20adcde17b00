import { readFileSync } from "node:fs";
import { z } from "zod";
import type { BackgroundCommands } from "../background.ts";
import type { AgentEvent } from "../event.ts";
import type { Workspace } from "../workspace.ts";

export interface ToolContext {
  call_id: string;
  workspace: Workspace;
  /** The turn's commands that nobody waits for. */
  background: BackgroundCommands;
  emit(event: AgentEvent): Promise<void>;
  /** Fires when the call is to stop: the turn is stopped, or a message interrupts it. */
  signal: AbortSignal;
}

export interface Image {
  mime_type: string;
  data: Uint8Array;
}

/** What the model reads. An error is for it to deal with, and the turn goes on. */
export interface ToolResult {
  output: string;
  is_error?: true;
  /** Kept as artifacts, and shown to models that can see. */
  images?: Image[];
}

/** What a tool takes, where others than we have written it down. */
export interface ForeignInput {
  jsonSchema: Record<string, unknown>;
}

export interface Tool {
  name: string;
  /** For the model. */
  description: string;
  input: z.ZodType | ForeignInput;
  /** Set where the tool writes its call and result as events of its own; else the loop records both. */
  recordsItself?: true;
  run(input: unknown, context: ToolContext): Promise<ToolResult>;
}

interface Definition<S extends z.ZodType> extends Omit<Tool, "run" | "input"> {
  input: S;
  run(input: z.infer<S>, context: ToolContext): Promise<ToolResult>;
}

export function defineTool<S extends z.ZodType>(definition: Definition<S>): Tool {
  return { ...definition, run: (input, context) => definition.run(definition.input.parse(input), context) };
}

/** What the model is told about a tool of ours: a file beside the code. */
export function described(name: string): string {
  return readFileSync(new URL(`./${name}.md`, import.meta.url), "utf8").trim();
}

/** No shell and no system call takes a NUL, and none a longer path. */
export function path(description: string) {
  return z.string().min(1).max(4096).refine(hasNoNul, "must not contain a NUL").meta({ description });
}

/** Shells know `~`, so that people and models write it everywhere. A file of this name is `./~`. */
export function located(path: string, { home }: Workspace): string {
  return path === "~" || path.startsWith("~/") ? home + path.slice(1) : path;
}

export function line(description: string) {
  const isLine = (text: string) => hasNoNul(text) && !text.includes("\n");
  return z.string().min(1).max(2000).refine(isLine, "must be one line of text").meta({ description });
}

function hasNoNul(text: string): boolean {
  return !text.includes("\0");
}
