import { asObject, type Json } from "./formats/format.ts";

const LINE_FEED = 10;

/**
 * Reads the JSON events of a text/event-stream that passes by. It never fails: what is not JSON is ignored. The caller
 * limits the size of events.
 */
export class EventReader {
  #line: Uint8Array[] = [];

  /** Returns the events whose data ends in this chunk. All providers send the data of an event on one line. */
  push(chunk: Uint8Array): Json[] {
    const events: Json[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      this.#line.push(chunk.subarray(from, end));
      const event = parseLine(Buffer.concat(this.#line).toString());
      if (event) events.push(event);
      this.#line = [];
      from = end + 1;
    }
    if (from < chunk.length) this.#line.push(chunk.subarray(from));
    return events;
  }
}

/** Returns the JSON of a line with data. */
export function parseLine(line: string): Json | undefined {
  if (!line.startsWith("data:")) return undefined;
  try {
    return asObject(JSON.parse(line.slice("data:".length)));
  } catch {
    return undefined;
  }
}
