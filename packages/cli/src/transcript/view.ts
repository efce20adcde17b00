import type { MessageAgentDelta, RunEvent } from "@outrider/sdk";
import { bytes, duration } from "../terminal/format.ts";
import type { Output } from "../terminal/output.ts";
import { sanitize, sanitizeLine } from "../terminal/sanitize.ts";
import type { Status } from "../terminal/status.ts";
import { truncate, wrap } from "../terminal/width.ts";
import { AgentText } from "./agent-text.ts";
import { CommandOutput } from "./command-output.ts";
import { Markdown } from "./markdown.ts";
import { patchCounts, patchLines } from "./patch.ts";

const OUTPUT_LINES = 8;
const PATCH_LINES = 16;
const PROMPT_LINES = 12;
/** The maximum line width, because longer lines are hard to read. */
const MAX_COLUMNS = 100;

/** The tool that asks a question. It is not shown, because the question is a separate event. */
const ASK_TOOL = "ask";

type DataOf<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>["data"];

/** Prints a run's events in a readable form. */
export class TranscriptView {
  readonly #out: Output;
  readonly #status: Status;
  readonly #isFull: boolean;
  readonly #commands = new Map<string, CommandOutput>();
  readonly #agentText = new AgentText();
  #markdown: Markdown | undefined;
  #turn = 1;

  constructor({ out, status, isFull }: { out: Output; status: Status; isFull: boolean }) {
    this.#out = out;
    this.#status = status;
    this.#isFull = isFull;
  }

  show(event: RunEvent | MessageAgentDelta): void {
    if (event.type === "message.agent.delta") {
      this.#appendDelta(event.data.text);
      return;
    }
    if (event.turn !== this.#turn) {
      this.#turn = event.turn;
      this.#print("", this.#out.style.dim(`── turn ${event.turn} ──`));
    }
    this.#show(event);
  }

  #show(event: RunEvent): void {
    const { bold, cyan, dim, green, magenta, red, yellow } = this.#out.style;
    switch (event.type) {
      case "run.created":
        if (event.data.title !== event.data.prompt.trim()) this.#print(bold(this.#oneLine(event.data.title)));
        this.#quote(event.data.prompt, sanitizeLine(event.data.creator.display_name));
        this.#status.show("Waiting for a worker");
        return;
      case "run.claimed":
        this.#status.show(`Preparing the sandbox on ${event.data.worker}`);
        return;
      case "run.started":
        this.#print("", dim(`Agent started · ${this.#oneLine(event.data.model_id)}`));
        this.#status.show("Thinking");
        return;
      case "run.recovering":
        this.#agentText.reset();
        this.#print(yellow(this.#oneLine(`↻ resumed: ${event.data.reason}`)));
        this.#status.show("Waiting for a worker");
        return;
      case "run.blocked":
        this.#printMarked(event.data.question, magenta("?"));
        return;
      case "run.succeeded":
        return;
      case "run.failed": {
        const { message, error_code, remedy } = event.data.status_message;
        this.#print(red(this.#wrapText(`✗ ${error_code ?? "failed"}: ${message}`)));
        if (remedy) this.#print(this.#wrapText(`  ${remedy}`));
        return;
      }
      case "run.cancelled":
        this.#print(yellow(this.#oneLine(`■ cancelled by ${event.data.by.display_name}`)));
        return;
      case "run.reopened":
        this.#status.show("Waiting for a worker");
        return;
      case "environment.step":
        this.#environment(event.data);
        return;
      case "message.user":
        this.#print("");
        this.#quote(event.data.text, "follow-up");
        return;
      case "message.agent":
        this.#completeMessage(event.data.text);
        return;
      case "reasoning":
        if (this.#isFull) this.#print(...this.#wrapped(event.data.text, "  ").map(dim));
        this.#status.show("Thinking");
        return;
      case "command.started":
        this.#started(event.data);
        return;
      case "command.output":
        this.#output(event.data);
        return;
      case "command.finished":
        this.#finished(event.data);
        return;
      case "file.changed":
        this.#changed(event.data);
        return;
      case "tool.called":
        this.#called(event.data);
        return;
      case "tool.returned":
        this.#returned(event.data);
        return;
      case "plan.updated": {
        const marks = { done: green("✓"), active: cyan("▸"), pending: dim("·") };
        const steps = event.data.steps.map(
          ({ text, state }) => `  ${marks[state]} ${this.#oneLine(text, 4)}`,
        );
        this.#print("", bold("Plan"), ...steps);
        return;
      }
      case "usage.updated":
        return;
      case "artifact.added": {
        const { name, size_bytes, artifact_id } = event.data;
        this.#print(dim(this.#oneLine(`⇩ ${name} (${bytes(size_bytes)}) ${artifact_id}`)));
        return;
      }
      case "branch.pushed": {
        const { branch, commit, is_forced } = event.data;
        const how = is_forced ? " (replaced earlier commits)" : "";
        this.#print(green(this.#oneLine(`⇧ pushed ${commit.slice(0, 10)} to ${branch}${how}`)));
        return;
      }
      case "pull_request.opened":
      case "pull_request.updated":
        this.#pullRequest(event);
        return;
      case "compacted":
        this.#print(dim("⋯ conversation compacted"));
        return;
      case "notice":
        this.#print(yellow(this.#wrapText(`! ${event.data.message}`)));
        return;
      default: {
        // A newer server can send event types that this version does not know.
        const { type } = event as { type: string };
        this.#print(dim(this.#oneLine(`· ${type}`)));
        return;
      }
    }
  }

  #environment({ name, state, detail, output }: DataOf<"environment.step">): void {
    const { red, dim } = this.#out.style;
    const text = this.#oneLine(`${name}${detail ? `: ${detail}` : ""}`, 2);
    if (state === "started") this.#status.show(text);
    if (state === "finished") this.#print(dim(`✓ ${text}`));
    if (state === "failed") this.#print(red(`✗ ${text}`));
    if (!output) return;
    const printed = new CommandOutput(this.#isFull ? Number.POSITIVE_INFINITY : OUTPUT_LINES);
    printed.add(output);
    printed.close();
    this.#printLastLines(printed);
  }

  #started({ command_id, command, background }: DataOf<"command.started">): void {
    const { bold, cyan } = this.#out.style;
    this.#commands.set(command_id, new CommandOutput(this.#isFull ? Number.POSITIVE_INFINITY : OUTPUT_LINES));
    const lines = sanitize(command).split("\n");
    const sign = background ? "&" : "$";
    const shown = this.#isFull ? lines : lines.slice(0, PROMPT_LINES);
    this.#print(
      "",
      ...shown.map((line, index) => `${cyan(index === 0 ? sign : " ")} ${bold(this.#fit(line, 2))}`),
    );
    this.#status.show(lines[0] as string);
  }

  #output({ command_id, text }: DataOf<"command.output">): void {
    const output = this.#commands.get(command_id);
    const lines = output?.add(text) ?? [];
    if (this.#isFull) this.#print(...lines.map((line) => this.#dimmed(line)));
    if (output?.last) this.#status.show(output.last);
  }

  #finished({
    command_id,
    exit_code,
    duration_ms,
    timed_out,
    omitted_bytes,
  }: DataOf<"command.finished">): void {
    const { dim, green, red } = this.#out.style;
    const output = this.#commands.get(command_id);
    this.#commands.delete(command_id);
    const rest = output?.close() ?? [];
    if (this.#isFull) this.#print(...rest.map((line) => this.#dimmed(line)));
    else if (output) this.#printLastLines(output);
    const how = exit_code === undefined ? (timed_out ? "timed out" : "killed") : `exit ${exit_code}`;
    const omitted = omitted_bytes ? `, ${bytes(omitted_bytes)} of output omitted` : "";
    const mark = exit_code === 0 ? green("✓") : red("✗");
    this.#print(
      `  ${mark} ${exit_code === 0 ? dim(how) : red(how)} ${dim(`· ${duration(duration_ms)}${omitted}`)}`,
    );
    this.#status.show("Thinking");
  }

  #printLastLines({ lines, dropped }: CommandOutput): void {
    if (dropped > 0)
      this.#print(this.#out.style.dim(`  … ${dropped} earlier lines (use --full to show all)`));
    this.#print(...lines.map((line) => this.#dimmed(line)));
  }

  #changed({ path, kind, patch }: DataOf<"file.changed">): void {
    const { style, width } = this.#out;
    const sign = { created: style.green("+"), modified: style.yellow("~"), deleted: style.red("−") }[kind];
    this.#print(
      `${sign} ${style.bold(this.#oneLine(path, 20))} ${style.dim(`${kind} ${patchCounts(patch)}`)}`,
    );
    const maxLines = this.#isFull ? Number.POSITIVE_INFINITY : PATCH_LINES;
    const lines = patch === "" ? [] : patchLines(patch, { style, columns: width - 2, maxLines });
    this.#print(...lines.map((line) => `  ${line}`));
  }

  #pullRequest(event: Extract<RunEvent, { type: `pull_request.${string}` }>): void {
    const { green, magenta, yellow } = this.#out.style;
    const { number, state, url } = event.data;
    const isOpened = event.type === "pull_request.opened";
    const paint = { draft: yellow, open: green, merged: magenta, closed: yellow }[state];
    const text = `⎇ pull request #${number} ${isOpened ? `opened (${state})` : `is ${state}`}: ${url}`;
    this.#print(paint(this.#oneLine(text)));
  }

  #called({ tool, input }: DataOf<"tool.called">): void {
    if (tool === ASK_TOOL) return;
    const { bold, cyan, dim } = this.#out.style;
    const json = sanitizeLine(JSON.stringify(input) ?? "");
    this.#print("", `${cyan("›")} ${bold(sanitizeLine(tool))} ${dim(this.#fit(json, tool.length + 3))}`);
    this.#status.show(tool);
  }

  #returned({ tool, output, is_error }: DataOf<"tool.returned">): void {
    if (tool === ASK_TOOL) return;
    const lines = sanitize(output).trimEnd().split("\n");
    const shown = this.#isFull ? lines : lines.slice(0, OUTPUT_LINES);
    const paint = is_error ? this.#out.style.red : this.#out.style.dim;
    this.#print(...shown.filter(Boolean).map((line) => paint(`  ${this.#fit(line, 2)}`)));
    const more = lines.length - shown.length;
    if (more > 0) this.#print(this.#out.style.dim(`  … ${more} more lines (use --full to show all)`));
    this.#status.show("Thinking");
  }

  #appendDelta(delta: string): void {
    const isFirst = !this.#agentText.hasPrintedLines;
    const lines = this.#agentText.append(delta);
    if (lines.length > 0) this.#printAgentLines(lines, isFirst);
    if (this.#agentText.partialLine.trim() !== "") this.#status.show(this.#agentText.partialLine);
  }

  #completeMessage(text: string): void {
    const isFirst = !this.#agentText.hasPrintedLines;
    const { lines, isReprinted } = this.#agentText.complete(text);
    if (lines.length > 0) this.#printAgentLines(lines, isFirst || isReprinted);
    this.#markdown = undefined;
    this.#status.show("Thinking");
  }

  #printAgentLines(lines: string[], isFirst: boolean): void {
    const { style } = this.#out;
    if (isFirst || !this.#markdown) {
      this.#markdown = new Markdown(style, this.#columns(2));
      this.#print("");
    }
    const markdown = this.#markdown;
    const shown = lines.flatMap((line) => markdown.line(line.replaceAll("\t", "    ")));
    this.#print(...shown.map((line, index) => `${isFirst && index === 0 ? style.green("●") : " "} ${line}`));
  }

  #printMarked(text: string, sign: string): void {
    const lines = this.#wrapped(text, "  ");
    this.#print("", ...lines.map((line, index) => (index === 0 ? `${sign} ${line.slice(2)}` : line)));
  }

  #quote(text: string, author: string): void {
    const { dim } = this.#out.style;
    const lines = this.#wrapped(text.trimEnd(), "");
    const shown = this.#isFull ? lines : lines.slice(0, PROMPT_LINES);
    const more = lines.length - shown.length;
    this.#print(
      dim(`${author}:`),
      ...shown.map((line) => `${dim("▏")} ${line}`),
      ...(more > 0 ? [dim(`▏ … ${more} more lines`)] : []),
    );
  }

  #wrapped(text: string, indent: string): string[] {
    const columns = this.#columns(indent.length + 2);
    const lines = sanitize(text).replaceAll("\t", "    ").split("\n");
    if (!Number.isFinite(columns)) return lines.map((line) => indent + line);
    return lines.flatMap((line) => wrap(line, columns)).map((line) => indent + line);
  }

  #wrapText(text: string): string {
    return this.#wrapped(text, "").join("\n");
  }

  #dimmed(line: string): string {
    return this.#out.style.dim(`  ${this.#isFull ? line : this.#fit(line, 2)}`);
  }

  /** Returns the text as a single line that leaves `taken` columns free. */
  #oneLine(text: string, taken = 0): string {
    return this.#fit(sanitizeLine(text), taken);
  }

  #fit(line: string, taken: number): string {
    return truncate(line.replaceAll("\t", "    "), Math.max(8, this.#out.width - taken));
  }

  #columns(taken: number): number {
    return this.#out.isTerminal ? Math.min(this.#out.width, MAX_COLUMNS) - taken : Number.POSITIVE_INFINITY;
  }

  #print(...lines: string[]): void {
    if (lines.length === 0) return;
    this.#status.clear();
    for (const line of lines) this.#out.print(line);
  }
}
