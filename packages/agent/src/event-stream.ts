import { StringDecoder } from "node:string_decoder";
import { createParser } from "eventsource-parser";

export interface StreamEvent {
  event: string;
  data: string;
}

interface StreamOptions {
  maxCharacters: number;
  /** Called with the id that a client sends to resume the stream after this event. */
  onId?(id: string): void;
  /** Called when the server sets the delay before a reconnection, in milliseconds. */
  onRetry?(ms: number): void;
}

/** Reads a text/event-stream. Throws if more than `maxCharacters` of an incomplete event are buffered. */
export async function* readEvents(
  body: AsyncIterable<Buffer>,
  { maxCharacters, ...callbacks }: StreamOptions,
): AsyncGenerator<StreamEvent> {
  const decoder = new StringDecoder("utf8");
  const events: StreamEvent[] = [];
  let isTooLarge = false;
  const parser = createParser({
    ...callbacks,
    maxBufferSize: maxCharacters,
    onEvent: ({ event = "message", data }) => events.push({ event, data }),
    onError: ({ type }) => {
      isTooLarge ||= type === "max-buffer-size-exceeded";
    },
  });
  for await (const chunk of body) {
    parser.feed(decoder.write(chunk));
    yield* events.splice(0);
    if (isTooLarge) throw new Error(`The server sent an event of more than ${maxCharacters} characters.`);
  }
}
