// biome-ignore-all lint/suspicious/noControlCharactersInRegex: the tests check that they are absent

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestInstallation, type TestInstallation } from "../../packages/worker/test/installation.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { type FaultProxy, startFaultProxy } from "../clients/fault-proxy.ts";
import { root } from "../process.ts";
import { type Cli, createCli } from "./cli.ts";

/** Tests the output in a pseudo-terminal: with and without colors, wide and narrow. */

let installation: TestInstallation;
let proxy: FaultProxy;
let cli: Cli;
beforeAll(async () => {
  installation = await startTestInstallation();
  await installation.worker();
  proxy = await startFaultProxy(installation.origin);
  cli = createCli({ OUTRIDER_API_KEY: installation.key, OUTRIDER_BASE_URL: `${proxy.origin}/api/v1` });
});
afterAll(async () => {
  cli?.[Symbol.dispose]();
  await proxy?.close();
  await installation?.stop();
});

const color = "\x1b[3";
const moves = "\x1b[K";
const story = [
  "RUN: seq 1 30; echo problem >&2; exit 3",
  "WRITE: greeting.txt | hello\\nworld\\n",
  "SAY: # Report",
  "SAY: It is **done**, with `care`.",
];

describe("following a run", () => {
  test("shows commands, output, file changes and messages, then a summary", async () => {
    const terminal = cli.terminal(["run", story.join("\n"), "--follow"]);
    const { code } = await terminal.ended;
    const screen = terminal.text();
    expect(code).toBe(0);
    expect(screen).toContain("$ seq 1 30; echo problem >&2; exit 3");
    expect(screen).toContain("earlier lines (use --full to show all)");
    expect(screen).not.toMatch(/^ {2}5$/m);
    expect(screen).toMatch(/^ {2}30$[\s\S]*✗ exit 3 · \d/m);
    expect(screen).toMatch(/\+ greeting\.txt created \+2\n {2}@@ .*\n {2}\+hello\n {2}\+world/);
    expect(screen).toMatch(/● Report\n {2}It is done, with care\./);
    expect(screen).toMatch(/SUCCEEDED .* · 3 steps · .*\nhttp:/);
    expect(terminal.stdout()).toContain(color);
    expect(terminal.stdout()).toContain(moves);
  });

  test("shows messages while they are streamed", async () => {
    // Deltas that arrive before the client subscribes are lost, so the agent sends many of them. They take longer than
    // any wait of this test, which cancels the run as soon as it has seen one.
    const spoken = Array.from({ length: 1_500 }, (_, index) => `SAY: word ${index}\nSLEEP: 200`);
    const terminal = cli.terminal(["run", spoken.join("\n"), "--follow"]);
    await vi.waitFor(() => expect(terminal.text()).toMatch(/● word \d+\n/), waitOptions);
    const [, run] = /^Run (\S+)/.exec(terminal.text()) ?? [];
    expect((await installation.events(run as string)).map(({ type }) => type)).not.toContain("message.agent");
    await installation.call("POST", `/agent/runs/${run}/cancel`);
    expect((await terminal.ended).code).toBe(7);
  });

  test("shows plans and tools", async () => {
    const steps = [
      { text: "look", state: "done" },
      { text: "change", state: "active" },
      { text: "check", state: "pending" },
    ];
    const script = `CALL: update_plan ${JSON.stringify({ steps })}\nCALL: read_file {"path": "none.txt"}`;
    const terminal = cli.terminal(["run", script, "--follow"]);
    await terminal.ended;
    expect(terminal.text()).toMatch(/Plan\n {2}✓ look\n {2}▸ change\n {2}· check/);
    expect(terminal.text()).toContain('› read_file {"path":"none.txt"}');
  });

  test("shows all output and full patches with --full", async () => {
    const terminal = cli.terminal(["run", story.join("\n"), "--follow", "--full"]);
    await terminal.ended;
    expect(terminal.text()).toMatch(/^ {2}5$/m);
  });

  test.each([
    ["--no-color", ["--no-color"], {}],
    ["NO_COLOR", [], { NO_COLOR: "1" }],
  ])("has no colors with %s", async (_, flags, environment) => {
    const terminal = cli.terminal(["run", story.join("\n"), "--follow", ...flags], { environment });
    await terminal.ended;
    expect(terminal.stdout()).not.toContain("\x1b[3");
    expect(terminal.text()).toContain("It is **done**, with `care`.");
  });

  test("has no animations in a pipe, and colors only with FORCE_COLOR", async () => {
    const piped = await cli(["run", story.join("\n"), "--follow"]);
    expect(piped.stdout + piped.stderr).not.toContain("\x1b");
    const forced = await cli(["run", story.join("\n"), "--follow"], { environment: { FORCE_COLOR: "1" } });
    expect(forced.stdout).toContain(color);
    expect(forced.stdout + forced.stderr).not.toContain(moves);
    const [, run = ""] = /^Run (\S+)/m.exec(piped.stderr) ?? [];
    for (const args of [
      ["runs", "list"],
      ["runs", "get", run],
      ["runs", "diff", run],
    ]) {
      const through = async (environment: Record<string, string>) =>
        (await cli(args, { environment })).stdout;
      expect(await through({}), args.join(" ")).not.toContain("\x1b");
      expect(await through({ FORCE_COLOR: "1" }), args.join(" ")).toMatch(/\x1b\[\d+m/);
      const plain = await cli(args, { environment: { FORCE_COLOR: "1", NO_COLOR: "1" } });
      expect(plain.stdout + plain.stderr, args.join(" ")).not.toMatch(/\x1b|Warning/);
    }
  });

  test("fits a narrow terminal", async () => {
    const words = "many words that do not fit into one line of it ".repeat(3);
    const script = `RUN: printf '%0.sx' $(seq 1 200)\nSAY: ${words}`;
    const terminal = cli.terminal(["run", script, "--follow", "--title", "a long title ".repeat(9)], {
      columns: 40,
    });
    await terminal.ended;
    const unbreakable = /^(Run |http|Detached|Waiting for your)/;
    const lines = terminal.text().split(/[\n\r]/);
    expect(lines.filter((line) => line.length > 40 && !unbreakable.test(line))).toEqual([]);
    expect(lines.join(" ")).toContain("many words");
  });

  test("sanitizes hostile output", async () => {
    const hostile = [
      String.raw`RUN: printf '\033]0;owned\007\033]52;c;cm0=\007\033[2Jcleared\033[31mred\r\nhid\bden \342\200\256evil\n'`,
      "SAY: said \u001b[2Jso\u202e",
      String.raw`WRITE: x.txt | \u001b[2Jfile\u202e`,
    ];
    const run = await installation.create(hostile, { title: "\u001b]0;title\u0007Hostile\u202e" });
    await installation.until(run, "SUCCEEDED");
    for (const args of [
      ["runs", "logs", run, "--full"],
      ["runs", "logs", "-f", run],
      ["runs", "diff", run],
      ["runs", "list"],
      ["runs", "get", run],
      ["runs", "transcript", run],
    ]) {
      const terminal = cli.terminal(args);
      const { code } = await terminal.ended;
      expect(code, args.join(" ")).toBe(0);
      const shown = terminal.stdout();
      expect(shown, args.join(" ")).not.toMatch(/\x1b\]|\x1b\[2J|\x07|\x08|\u202e|\x9b/);
    }
    const json = cli.terminal(["runs", "logs", run, "--json"]);
    await json.ended;
    expect(json.stdout()).not.toMatch(/[\x1b\u202e\x07]/);
  });

  test("shows a diff in git's colors and through git's pager", async () => {
    const run = await installation.create(["WRITE: x.txt | hello\\n"]);
    await installation.until(run, "SUCCEEDED");
    const show = async (args: string[], environment: Record<string, string> = {}) => {
      const terminal = cli.terminal(["runs", "diff", run, ...args], { environment });
      expect((await terminal.ended).code).toBe(0);
      return terminal;
    };
    const plain = await show([]);
    expect(plain.stdout()).toContain("\x1b[1mdiff --git a/x.txt b/x.txt\x1b[22m");
    expect(plain.stdout()).toContain("\x1b[32m+hello\x1b[39m");
    expect((await show(["--stat", "--no-pager"])).text()).toBe(
      " x.txt | 1 +\n 1 file changed, 1 insertion(+)\n",
    );
    const environment = { GIT_PAGER: "sed s/^/paged:/; echo key=$OUTRIDER_API_KEY" };
    const paged = (await show(["--no-color"], environment)).text();
    expect(paged).toMatch(/^paged:diff --git [\s\S]*^paged:\+hello\nkey=\n$/m);
    expect((await show(["--no-pager"], environment)).text()).not.toContain("paged:");
    expect((await show([], { GIT_PAGER: "/does/not/exist" })).text()).toContain("+hello");
  });

  test("Ctrl-C detaches from the run and shows how to continue", async () => {
    const terminal = cli.terminal(["run", "RUN: echo begun; sleep 30", "--follow"]);
    await terminal.waitForOutput("begun");
    terminal.type("\x03");
    const { code } = await terminal.ended;
    expect(code).toBe(130);
    const [, run = ""] = /outrider runs logs -f (\S+)/.exec(terminal.text()) ?? [];
    expect(terminal.text()).toContain(`outrider runs cancel ${run}`);
    expect((await installation.get(run)).state).toBe("INPROGRESS");
    await installation.call("POST", `/agent/runs/${run}/cancel`);
  });

  test("shows how to answer a question, and continues after the answer", async () => {
    const asked = cli.terminal(["run", "SAY: before\nASK: Which color?\nSAY: thanks", "--follow"]);
    expect((await asked.ended).code).toBe(8);
    expect(asked.text()).toContain("? Which color?");
    const [, run = ""] = /outrider runs followup (\S+) "…" --follow/.exec(asked.text()) ?? [];
    const answered = cli.terminal(["runs", "followup", run, "blue", "--follow"]);
    expect((await answered.ended).code).toBe(0);
    expect(answered.text()).toMatch(/turn 2[\s\S]*▏ blue[\s\S]*● thanks/);
    expect(answered.text()).not.toContain("before");
    // The log contains an answered question and does not stop there.
    const log = await cli(["runs", "logs", "-f", run]);
    expect(log.stdout).toMatch(/\? Which color\?[\s\S]*● thanks[\s\S]*SUCCEEDED/);
  });

  test("resumes after a lost connection without repeating lines", async () => {
    const run = await installation.create(["RUN: echo one", "RUN: echo two", "RUN: echo three", "SAY: end"]);
    proxy.set([
      { kind: "cut_stream", after_events: 3, path: "/events" },
      { kind: "cut", path: "/events", times: 2 },
      { kind: "cut_stream", after_events: 4, path: "/events" },
    ]);
    const { code, stdout } = await cli(["runs", "logs", "-f", run]);
    expect(code).toBe(0);
    expect(stdout.match(/^ {2}(one|two|three)$|● end/gm)).toEqual(["  one", "  two", "  three", "● end"]);
    proxy.set([{ kind: "cut_stream", after_events: 3, path: "/events" }]);
    const lines = (await cli(["runs", "logs", "-f", run, "--json"])).stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(await installation.events(run));
  });
});

describe("tables and documents", () => {
  test("prints a header and relative times on a terminal, and tabs in a pipe", async () => {
    const terminal = cli.terminal(["runs", "list"], { columns: 90 });
    await terminal.ended;
    expect(terminal.text()).toMatch(/^RUN +STATE +TITLE .*CREATED\n[\s\S]*(just now|min ago)/);
    const [first = ""] = (await cli(["runs", "list"])).stdout.split("\n");
    expect(first.split("\t")).toHaveLength(7);
  });

  test("prints the same JSON on a terminal and in a pipe", async () => {
    const terminal = cli.terminal(["model", "list", "--json"]);
    await terminal.ended;
    expect(JSON.parse(terminal.stdout())).toEqual((await cli(["model", "list", "--json"])).json);
  });

  test("exits cleanly when the reader closes the pipe", () => {
    const bin = join(root, "bin/outrider");
    const out = execFileSync("bash", ["-c", `set -o pipefail; "${bin}" completion bash | head -1`]);
    expect(String(out)).toContain("Completion");
  });

  test("asks for confirmation of irreversible actions", async () => {
    const run = await installation.create(["SAY: x"]);
    await installation.until(run, "SUCCEEDED");
    const no = cli.terminal(["runs", "delete", run]);
    await no.waitForOutput("[y/N]");
    no.type("n\r");
    expect((await no.ended).code).toBe(1);
    expect((await cli(["runs", "delete", run])).stderr).toContain("--yes");
    const yes = cli.terminal(["runs", "delete", run]);
    await yes.waitForOutput("[y/N]");
    yes.type("y\r");
    expect((await yes.ended).code).toBe(0);
    expect((await installation.call("GET", `/agent/runs/${run}`)).status).toBe(404);
  });

  test("does not show a secret while it is typed", async () => {
    const terminal = cli.terminal(["secret", "set", "TYPED"]);
    await terminal.waitForOutput("not shown");
    terminal.type("very-secret-value\r");
    expect((await terminal.ended).code).toBe(0);
    expect(terminal.stdout()).not.toContain("very-secret");
    expect((await cli(["secret", "list", "-q"])).stdout).toBe("TYPED\n");
  });
});
