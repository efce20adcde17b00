import { StringDecoder } from "node:string_decoder";
import { MESSAGE_BYTES } from "./transport.ts";

export interface StreamEvent {
  event: string;
  data: string;
  id?: string;
  retry?: number;
}

/** The events of a text/event-stream. One that is too long to be a message ends it with an error. */
export async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<StreamEvent> {
  let fields: [name: string, value: string][] = [];
  let bytes = 0;
  for await (const line of readLines(body)) {
    if (line !== "") {
      bytes += line.length;
      if (bytes > MESSAGE_BYTES) throw new Error(`It sent an event of more than ${MESSAGE_BYTES} bytes.`);
      const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (name !== "") fields.push([name, value]);
      continue;
    }
    const event = eventOf(fields);
    fields = [];
    bytes = 0;
    if (event) yield event;
  }
}

function eventOf(fields: [name: string, value: string][]): StreamEvent | undefined {
  const all = (name: string) => fields.filter((field) => field[0] === name).map((field) => field[1]);
  const id = all("id").at(-1);
  const retry = Number(all("retry").at(-1) ?? Number.NaN);
  if (fields.length === 0) return undefined;
  return {
    event: all("event").at(-1) || "message",
    data: all("data").join("\n"),
    ...(id === undefined ? {} : { id }),
    ...(Number.isInteger(retry) ? { retry } : {}),
  };
}

async function* readLines(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let parts: string[] = [];
  let held = 0;
  for await (const chunk of body) {
    const [first = "", ...more] = decoder.write(chunk).split("\n");
    parts.push(first);
    held += first.length;
    for (const next of more) {
      yield withoutReturn(parts.join(""));
      parts = [next];
      held = next.length;
    }
    if (held > MESSAGE_BYTES) throw new Error(`It sent a line of more than ${MESSAGE_BYTES} bytes.`);
  }
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
