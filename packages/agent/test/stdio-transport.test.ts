import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import { StdioTransport } from "../src/mcp/stdio-transport.ts";

const MESSAGES = 100_000;

test("a flood of messages leaves time for other work of the process", async () => {
  const ping = `${JSON.stringify({ jsonrpc: "2.0", id: "ping", method: "ping" })}\n`;
  const stdout = Readable.from([Buffer.from(ping.repeat(MESSAGES))]);
  const transport = new StdioTransport({ stdin: new PassThrough(), stdout, onLog() {} });
  let messages = 0;
  transport.onmessage = () => {
    messages += 1;
  };
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 1);
  await transport.start();
  await once(stdout, "close");
  clearInterval(timer);
  expect(messages).toBe(MESSAGES);
  expect(ticks).toBeGreaterThan(5);
});
