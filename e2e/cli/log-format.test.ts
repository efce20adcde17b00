import { afterAll, expect, test } from "vitest";
import { makeDataDir, removeDataDir } from "../process.ts";
import { createCli } from "./cli.ts";

const cli = createCli();
const dataDir = makeDataDir();
afterAll(() => {
  cli[Symbol.dispose]();
  removeDataDir(dataDir);
});

const args = ["serve", "--port", "0", "--data-dir", dataDir];
const isJson = (line: string) => line.startsWith("{");
const linesOf = (text: string) => text.split("\n").filter((line) => line !== "");

test("on a terminal, the banner comes first and log lines are human", async () => {
  const terminal = cli.terminal(args);
  await terminal.waitForOutput("ready for runs");
  const before = linesOf(terminal.text().split("Outrider is listening on")[0] as string);
  expect(before).toEqual(["Starting Outrider…"]);
  expect(terminal.text()).toMatch(/^\d\d:\d\d:\d\d INFO {2}\[local-1\] ready for runs/m);
  terminal.type("\x03");
  expect((await terminal.ended).code).toBe(0);
  expect(linesOf(terminal.text()).filter(isJson)).toEqual([]);
});

test("in a pipe, every log line is JSON", async () => {
  const running = cli.start(args);
  await running.waitForOutput("ready for runs");
  await running.end("SIGTERM");
  const lines = linesOf(running.stdout());
  expect(lines.filter((line) => !isJson(line))).toEqual([]);
  const messages = lines.map((line) => JSON.parse(line).msg);
  expect(messages).toContain("listening");
  expect(messages).toContain("ready for runs");
});

test("--log-format json applies to a terminal and to local workers", async () => {
  const terminal = cli.terminal([...args, "--log-format", "json"]);
  await terminal.waitForOutput("ready for runs");
  const log = linesOf(terminal.text()).filter(isJson);
  expect(log.map((line) => JSON.parse(line).msg)).toEqual(
    expect.arrayContaining(["listening", "ready for runs"]),
  );
  terminal.type("\x03");
  expect((await terminal.ended).code).toBe(0);
});

test("OUTRIDER_LOG_FORMAT=human applies to a pipe", async () => {
  const running = cli.start(args, { environment: { OUTRIDER_LOG_FORMAT: "human" } });
  await running.waitForOutput("ready for runs");
  await running.end("SIGTERM");
  expect(linesOf(running.stdout()).filter(isJson)).toEqual([]);
  expect(running.stdout()).not.toContain("\x1b");
});

test("rejects an unknown format", async () => {
  for (const command of ["serve", "worker"]) {
    const environment = { OUTRIDER_WORKER_KEY: "x" };
    const { code, stderr } = await cli([command, "--log-format", "loud"], { environment });
    expect(code).not.toBe(0);
    expect(stderr).toContain("must be auto, human or json");
  }
});
