import { expect, test } from "vitest";
import { EscapeSequence } from "../src/shell/escape-sequence.ts";

/** Types the keys one at a time, and returns what is sent. */
function type(keys: string): string {
  const sequence = new EscapeSequence();
  let sent = "";
  for (const key of keys) {
    const { bytes, isDisconnect } = sequence.read(Buffer.from(key));
    sent += bytes.toString("latin1");
    if (isDisconnect) return `${sent}|disconnected`;
  }
  return sent;
}

test.each([
  ["~.", "|disconnected"],
  ["ls\r~.", "ls\r|disconnected"],
  ["ls\n~.more", "ls\n|disconnected"],
  ["ls ~.", "ls ~."],
  ["\r~~.", "\r~."],
  ["\r~x~.", "\r~x~."],
  ["cd ~\r~/bin\r", "cd ~\r~/bin\r"],
])("reads %j as %j", (keys, expected) => {
  expect(type(keys)).toBe(expected);
  const { bytes, isDisconnect } = new EscapeSequence().read(Buffer.from(keys));
  expect(bytes.toString() + (isDisconnect ? "|disconnected" : "")).toBe(expected);
});
