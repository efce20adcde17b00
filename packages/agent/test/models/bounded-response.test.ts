import { describe, expect, it } from "vitest";
import { boundResponse } from "../../src/models/providers/bounded-response.ts";

const line = `data: [${"1,".repeat(20_000)}1]`;

/** Sends these chunks as the body of a response, and records whether the reader cancelled it. */
function respond(...chunks: string[]) {
  const state = { cancelled: false };
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks.shift();
      if (chunk === undefined) controller.close();
      else controller.enqueue(encoder.encode(chunk));
    },
    cancel() {
      state.cancelled = true;
    },
  });
  const headers = { "content-type": "text/event-stream" };
  return { state, response: boundResponse(new Response(body, { headers })) };
}

describe.each([
  ["LF", "\n"],
  ["CR", "\r"],
  ["CR LF", "\r\n"],
])("with lines that end with %s", (_, end) => {
  it.each([
    ["in one chunk", (text: string) => [text]],
    ["in one chunk per byte of a line's end", (text: string) => text.split(/(?<=[\r\n])/)],
  ])("an event ends with an empty line, %s", async (_, split) => {
    const event = `${line}${end}${end}`;
    const { response } = respond(...split(event + event));
    expect(await response.text()).toBe(event + event);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
  });

  it.each([
    ["in one chunk", (text: string) => [text]],
    ["in one chunk per byte of a line's end", (text: string) => text.split(/(?<=[\r\n])/)],
  ])("an event of two lines is measured as one, %s", async (_, split) => {
    const { response } = respond(...split(`${line}${end}${line}${end}${end}`));
    await expect(response.text()).rejects.toThrow("contains more than 30000 values");
  });
});

it("a response that exceeds a limit is not read any further", async () => {
  const { response, state } = respond(line, line, "data: rest");
  await expect(response.text()).rejects.toThrow("contains more than 30000 values");
  expect(state.cancelled).toBe(true);
});

it("a response that is abandoned is cancelled", async () => {
  const { response, state } = respond("data: 1\n\n", "data: 2\n\n");
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  expect(state.cancelled).toBe(true);
});
