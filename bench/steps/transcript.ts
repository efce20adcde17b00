import type { NewEvent } from "@outrider/contract/event";
import { zeroUsage } from "@outrider/contract/run";

/** Generates the log of a long turn: commands with output, file changes and messages. */
export function* generateTranscript(count: number): Generator<NewEvent> {
  let generated = 0;
  for (let step = 1; ; step += 1) {
    for (const event of stepEvents(step)) {
      if (generated === count) return;
      generated += 1;
      yield event;
    }
  }
}

function stepEvents(step: number): NewEvent[] {
  const id = `call-${step}`;
  const usage: NewEvent = {
    type: "usage.updated",
    data: { ...zeroUsage, steps: step, input_tokens: step * 900 },
  };
  const text = `Step ${step}: the test still fails, so I look at what the parser does with an empty line.`;
  const message: NewEvent[] = [{ type: "message.agent", data: { text } }, usage];
  if (step % 2 === 0) {
    const lines = (word: string) => `${word} src/parser.ts:${step}: unexpected end of input\n`.repeat(8);
    return [
      ...message,
      { type: "command.started", data: { command_id: id, command: `make test ARGS=parser-${step}` } },
      { type: "command.output", data: { command_id: id, stream: "stdout", text: lines("FAIL") } },
      { type: "command.output", data: { command_id: id, stream: "stderr", text: lines("warn") } },
      { type: "command.finished", data: { command_id: id, exit_code: 1, duration_ms: 812 } },
    ];
  }
  const path = `src/parser-${step}.ts`;
  const source = `export function parse${step}(line: string) {\n  return line.split(",");\n}\n`;
  return [
    ...message,
    { type: "tool.called", data: { call_id: id, tool: "write_file", input: { path, text: source } } },
    { type: "file.changed", data: { path, kind: "created", patch: `+++ ${path}\n+${source}` } },
    { type: "tool.returned", data: { call_id: id, tool: "write_file", output: `Created ${path}.` } },
  ];
}
