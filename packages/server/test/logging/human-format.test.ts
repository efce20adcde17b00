// biome-ignore-all lint/suspicious/noControlCharactersInRegex: control characters are what the output must not contain
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { formatLogLine, type LogEntry } from "../../src/logging/human-format.ts";

const plain = (_style: string, text: string) => text;
const format = (entry: Partial<LogEntry>) =>
  formatLogLine(
    { level: 30, time: "2026-03-01T12:34:56.789Z", pid: 7, msg: "something happened", ...entry },
    plain,
  );

describe("formatLogLine", () => {
  test("prints local time, level, message and fields", () => {
    const time = new Date("2026-03-01T12:34:56Z").toTimeString().slice(0, 8);
    expect(format({ port: 4000, host: "127.0.0.1" })).toBe(
      `${time} INFO  something happened  port=4000 host=127.0.0.1\n`,
    );
  });

  test.each([
    [10, "TRACE"],
    [20, "DEBUG"],
    [30, "INFO "],
    [40, "WARN "],
    [50, "ERROR"],
    [60, "ERROR"],
  ])("names level %i", (level, name) => {
    expect(format({ level })).toContain(` ${name} something happened\n`);
  });

  test("hides request ids on routine lines and shows them on failures", () => {
    const ids = { trace_id: "t1", key_id: "k1", session_id: "s1", address: "10.0.0.1" };
    expect(format({ ...ids, operation: "listRuns", status: 200 })).toMatch(
      / {2}operation=listRuns status=200\n$/,
    );
    expect(format({ ...ids, status: 404 })).toContain("trace_id=t1 key_id=k1 session_id=s1 address=10.0.0.1");
    expect(format({ ...ids, level: 40 })).toContain("trace_id=t1");
  });

  test("never shows the process id", () => {
    expect(format({ level: 50 })).not.toContain("pid");
  });

  test("puts the worker's name before the message", () => {
    expect(format({ worker: "local-1", worker_id: "w" })).toMatch(
      /INFO {2}\[local-1\] something happened\n$/,
    );
  });

  test("quotes values with spaces and prints nested values as JSON", () => {
    expect(format({ title: "two words", list: ["a", 1], empty: "" })).toContain(
      'title="two words" list=["a",1] empty=""',
    );
  });

  test("prints an error and its stack frames below the line", () => {
    const frames = "    at one (file.ts:1:2)\n    at two (file.ts:3:4)";
    const text = format({ level: 50, error: { name: "TypeError", message: "no good", code: "E1", frames } });
    expect(text.split("\n").slice(1)).toEqual([
      "         TypeError: no good code=E1",
      "         at one (file.ts:1:2)",
      "         at two (file.ts:3:4)",
      "",
    ]);
  });

  test("reads errors in pino's standard form", () => {
    const stack = "Error: lost\n    at run (file.ts:1:2)";
    expect(format({ level: 50, error: { type: "Error", message: "lost", stack } })).toMatch(
      /\n {9}Error: lost\n {9}at run \(file\.ts:1:2\)\n$/,
    );
  });

  test("escapes everything that could control a terminal or start another line", () => {
    const hostile = "a\u001b[2J\u009b31m\u202e\u0007\r\nb\u2028c";
    const text = format({
      level: 50,
      msg: hostile,
      worker: hostile,
      note: hostile,
      error: { message: hostile },
    });
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u2028]/);
    expect(text.trimEnd().split("\n")).toHaveLength(2);
    expect(format({ note: "\u001b[2J" })).toContain("note=\\u{1b}[2J");
  });

  test("colors through the given function", () => {
    const paint = (style: string, text: string) => `\u001b[${style.length}m${text}\u001b[0m`;
    const text = formatLogLine({ level: 30, time: "2026-03-01T12:34:56Z", msg: "hello", port: 1 }, paint);
    expect(text).toContain("\u001b[");
    expect(stripVTControlCharacters(text)).toMatch(/^\d\d:\d\d:\d\d INFO {2}hello {2}port=1\n$/);
  });
});
