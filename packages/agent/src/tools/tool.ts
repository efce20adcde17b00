import { readFileSync } from "node:fs";
import { z } from "zod";
import type { AgentEvent } from "../event.ts";
import type { BackgroundCommands } from "../turn/background-commands.ts";
import type { KnownFiles } from "../turn/known-files.ts";
import type { Workspace } from "../workspace.ts";

export interface ToolContext {
  call_id: string;
  workspace: Workspace;
  /** The turn's background commands. */
  background: BackgroundCommands;
  /** The files that the agent may replace. Undefined if it may replace all. */
  knownFiles?: KnownFiles | undefined;
  emit(event: AgentEvent): Promise<void>;
  /** Aborts when the turn is stopped or a message interrupts the call. */
  signal: AbortSignal;
}

export interface Image {
  mime_type: string;
  data: Uint8Array;
}

/** The result that the model reads. The turn continues even after an error. */
export interface ToolResult {
  output: string;
  is_error?: true;
  /** Images are stored as artifacts and shown to vision models. */
  images?: Image[];
}

/** The input of a tool whose schema Outrider does not define. */
export interface ForeignInput {
  jsonSchema: Record<string, unknown>;
}

export interface Tool {
  name: string;
  description: string;
  input: z.ZodType | ForeignInput;
  /** Set if the tool emits its own events for the call and its result. Otherwise, the agent loop emits them. */
  recordsItself?: true;
  /** Set if the tool changes nothing. Successive calls of such tools run at the same time. */
  isReadOnly?: true;
  /** Returns the paths of the files that a call would change. Set only for tools that edit files. */
  editedPaths?(input: unknown): string[];
  run(input: unknown, context: ToolContext): Promise<ToolResult>;
}

interface Definition<S extends z.ZodType> extends Omit<Tool, "run" | "input" | "editedPaths"> {
  input: S;
  editedPaths?(input: z.infer<S>): string[];
  run(input: z.infer<S>, context: ToolContext): Promise<ToolResult>;
}

export function defineTool<S extends z.ZodType>(definition: Definition<S>): Tool {
  const { editedPaths, ...rest } = definition;
  return {
    ...rest,
    ...(editedPaths ? { editedPaths: (input) => editedPaths(definition.input.parse(input)) } : {}),
    run: (input, context) => definition.run(definition.input.parse(input), context),
  };
}

/** Reads a built-in tool's description from its Markdown file. */
export function loadDescription(name: string): string {
  return readFileSync(new URL(`./descriptions/${name}.md`, import.meta.url), "utf8").trim();
}

/** Returns the schema for a path. Shells and system calls accept neither NUL bytes nor longer paths. */
export function path(description: string) {
  return z.string().min(1).max(4096).refine(hasNoNul, "must not contain NUL bytes").meta({ description });
}

export function line(description: string) {
  const isLine = (text: string) => hasNoNul(text) && !text.includes("\n");
  return z.string().min(1).max(2000).refine(isLine, "must be a single line of text").meta({ description });
}

function hasNoNul(text: string): boolean {
  return !text.includes("\0");
}
