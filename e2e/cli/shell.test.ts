import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "@outrider/server/config";
import { startServer } from "@outrider/server/main";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  longSleep,
  processesWith,
  startTestInstallation,
  type TestInstallation,
  waitForSleep,
} from "../../packages/worker/test/installation.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { type FaultProxy, startFaultProxy } from "../clients/fault-proxy.ts";
import { type Cli, type CliOptions, createCli, type Terminal } from "./cli.ts";

/** Tests shells in the sandboxes of environments, with the CLI, a worker and two servers. */

const SECRET = "the-token-of-the-registry";
const masterKey = { OUTRIDER_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") };

let installation: TestInstallation;
/** The CLI uses this proxy to the second server. The worker uses the first server. */
let proxy: FaultProxy;
let cli: Cli;
/** An environment whose second setup command fails. */
let failing: string;
/** An environment with a finished build. */
let ready: string;
const stops: (() => unknown)[] = [];

beforeAll(async () => {
  installation = await startTestInstallation({ ...masterKey, OUTRIDER_LEASE_SECONDS: "3" });
  stops.push(() => installation.stop());
  const folder = mkdtempSync(join(tmpdir(), "outrider-test-"));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  const second = await startServer(
    readConfig(
      {},
      {
        ...masterKey,
        DATABASE_URL: installation.databaseUrl,
        OUTRIDER_DATA_DIR: folder,
        OUTRIDER_PORT: "0",
        OUTRIDER_LOG_LEVEL: "silent",
      },
    ),
  );
  stops.push(() => second.stop());
  proxy = await startFaultProxy(second.origin);
  stops.push(() => proxy.close());
  cli = createCli({ OUTRIDER_API_KEY: installation.key, OUTRIDER_BASE_URL: `${proxy.origin}/api/v1` });
  stops.push(() => cli[Symbol.dispose]());
  await installation.worker();

  await installation.call("PUT", "/agent/secrets/REGISTRY_TOKEN", { body: { value: SECRET } });
  failing = await createEnvironment({
    setup_commands: ["mkdir site && echo made > site/file", "cd site; echo broken; exit 7", "echo never"],
    variables: { PLACE: "here" },
    build_secrets: ["REGISTRY_TOKEN"],
  });
  ready = await createEnvironment({ setup_commands: ["echo prepared > file"] });
  const build = (await installation.call("POST", `/agent/environments/${ready}/builds`)).body.build_id;
  const path = `/agent/environments/${ready}/builds/${build}`;
  await vi.waitUntil(async () => (await installation.call("GET", path)).body.state === "READY", waitOptions);
});
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

async function createEnvironment(body: object): Promise<string> {
  const name = `env ${randomUUID().slice(0, 8)}`;
  const reply = await installation.call("POST", "/agent/environments", { body: { name, ...body } });
  expect(reply.status).toBe(201);
  return reply.body.environment_id;
}

/** Opens a shell in a terminal and waits for its prompt. */
async function openTerminal(environment: string, options: CliOptions = {}): Promise<Terminal> {
  const terminal = cli.terminal(["env", "shell", environment], options);
  onTestFinished(() => terminal.type("\r~."));
  await terminal.waitForOutput("to disconnect");
  // The prompt is not part of the command that sets it.
  terminal.type("PS1='rea''dy> '\r");
  await terminal.waitForOutput("ready> ");
  return terminal;
}

/** Lists the sandboxes on the workers' disks, apart from bases and caches. */
function sandboxes(): string[] {
  const folders = readdirSync(installation.workersFolder).map((worker) =>
    join(installation.workersFolder, worker, "sandboxes"),
  );
  const entries = folders.flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));
  return entries.filter((name) => /^(shell|build)-/.test(name));
}

/** Waits until nothing of a shell is left: neither its processes nor its sandbox nor its data. */
async function expectNothingLeft(mark: string): Promise<void> {
  await vi.waitFor(() => expect(processesWith(mark)).toEqual([]), waitOptions);
  await vi.waitFor(() => expect(sandboxes()).toEqual([]), waitOptions);
  expect(await installation.db`select 1 from shells where state <> 'CLOSED'`).toEqual([]);
  expect(await installation.db`select 1 from shell_frames where is_input`).toEqual([]);
}

describe("a shell in a terminal", () => {
  test("opens where the build fails, and exits with the exit code of the shell", async () => {
    const terminal = await openTerminal(failing);
    terminal.type("pwd; cat site/file; echo $PLACE ${#REGISTRY_TOKEN} $REGISTRY_TOKEN; tty; exit 42\r");
    expect((await terminal.ended).code).toBe(42);
    const screen = terminal.text();
    expect(screen).toMatch(
      /Waiting for a worker[\s\S]*▸ mkdir site[\s\S]*✗ cd site; echo broken; exit 7 exit 7/,
    );
    expect(screen).toContain("`cd site; echo broken; exit 7` fails. This shell is in its place");
    expect(screen).toContain(`/workspace\nmade\nhere ${SECRET.length} ***\n/dev/pts/`);
    expect(screen).not.toContain(SECRET);
    expect(screen).not.toContain("never");
  });

  test("passes Ctrl-C and the size of the terminal on", async () => {
    const terminal = await openTerminal(ready);
    terminal.type("stty size\r");
    await terminal.waitForOutput("40 100");
    terminal.resize(20, 60);
    // The new size arrives after the keys that were typed before it.
    await vi.waitFor(() => {
      terminal.type("stty size\r");
      expect(terminal.text()).toContain("20 60");
    }, waitOptions);
    const { command, mark } = longSleep();
    terminal.type(`${command}; echo ended with $?\r`);
    await waitForSleep(mark);
    terminal.type("\x03");
    await vi.waitFor(() => expect(processesWith(mark)).toEqual([]), waitOptions);
    terminal.type("cat file; exit\r");
    await terminal.waitForOutput("prepared");
    expect((await terminal.ended).code).toBe(0);
  });

  test("ends with ~., and nothing is left", async () => {
    const terminal = await openTerminal(ready);
    const { command, mark } = longSleep();
    terminal.type(`echo changed > file; setsid ${command} &\r`);
    await waitForSleep(mark);
    terminal.type("\r~.");
    expect((await terminal.ended).code).toBe(255);
    expect(terminal.text()).toContain("The shell is closed.");
    await expectNothingLeft(mark);
    expect((await cli(["env", "shell", ready], { input: "cat file" })).stdout).toBe("prepared\n");
  });

  test("ends if the terminal is closed, and nothing is left", async () => {
    const terminal = await openTerminal(ready);
    const { command, mark } = longSleep();
    terminal.type(`${command}\r`);
    await waitForSleep(mark);
    process.kill(terminal.pid, "SIGKILL");
    await expectNothingLeft(mark);
    const [shell] = await installation.db`select message from shells order by created_at desc`;
    expect(shell?.message).toBe("The shell was closed by its user.");
  });

  test("ends if its client is lost, and nothing is left", async () => {
    const terminal = await openTerminal(ready);
    const { command, mark } = longSleep();
    terminal.type(`${command}\r`);
    await waitForSleep(mark);
    const clients = processesWith(`env shell ${ready}`).filter((line) => line.includes("main.ts"));
    for (const line of clients) process.kill(Number.parseInt(line, 10), "SIGKILL");
    await terminal.ended;
    await installation.db`update shells set client_seen_at = outrider_now() - interval '61 seconds'`;
    await expectNothingLeft(mark);
  });

  test("says that it ended because of a limit, and restores the terminal", async () => {
    const terminal = await openTerminal(ready);
    await installation.db`update shells set active_at = outrider_now() - interval '16 minutes'`;
    expect((await terminal.ended).code).toBe(255);
    expect(terminal.text()).toContain("no input and no output for 15 minutes");
    expect(terminal.stdout()).toContain("\x1b[?1049l");
  });

  test("types nothing twice and shows nothing twice if connections are lost", async () => {
    const terminal = await openTerminal(ready);
    proxy.set([
      { kind: "cut", path: "/input", forwarded: true, times: 3 },
      { kind: "cut_stream", path: "/events", after_events: 2, times: 3 },
    ]);
    for (const word of ["one", "two", "three"]) {
      terminal.type(`printf %s: ${word}; echo\r`);
      await terminal.waitForOutput(`${word}:`);
    }
    proxy.set([{ kind: "cut", path: "/input", forwarded: true, times: 2 }]);
    terminal.type("exit 5\r");
    expect((await terminal.ended).code).toBe(5);
    proxy.set([]);
    expect(terminal.text().match(/^\w+:$/gm)).toEqual(["one:", "two:", "three:"]);
  });
});

describe("a shell without a terminal", () => {
  test("runs the commands from stdin", async () => {
    const { code, stdout, stderr } = await cli(["env", "shell", ready], {
      input: "cat file; echo problem >&2; tty; exit 3",
    });
    expect({ code, stdout }).toEqual({ code: 3, stdout: "prepared\nnot a tty\n" });
    expect(stderr).toBe("Waiting for a worker…\nproblem\n");
  });

  test("passes on large input and output", async () => {
    const lines = Array.from({ length: 60_000 }, (_, index) => `line ${index}`).join("\n");
    const { code, stdout } = await cli(["env", "shell", ready], { input: `cat\n${lines}\n` });
    expect(code).toBe(0);
    expect(stdout === `${lines}\n`).toBe(true);
  });

  test("says why there is no sandbox", async () => {
    const environment = await createEnvironment({ repos: [{ url: "https://127.0.0.1:1/none.git" }] });
    const { code, stderr } = await cli(["env", "shell", environment], { input: "" });
    expect(code).toBe(255);
    expect(stderr).toMatch(/The sandbox cannot be opened: .*127\.0\.0\.1/);
  });

  test("is refused for --json and for environments that do not exist", async () => {
    expect((await cli(["env", "shell", ready, "--json"])).code).toBe(2);
    expect((await cli(["env", "shell", "none"])).code).toBe(4);
  });
});

describe("a lost worker", () => {
  test("ends the shell with a clear message", async () => {
    const paused = await installation.call("GET", "/workers");
    for (const { worker_id, is_alive } of paused.body.workers)
      if (is_alive) await installation.call("POST", `/workers/${worker_id}/drain`);
    const worker = await installation.workerProcess("lost", "--slots", "2");
    const terminal = await openTerminal(ready);
    const { command, mark } = longSleep();
    terminal.type(`${command}\r`);
    await waitForSleep(mark);
    process.kill(worker.pid, "SIGKILL");
    expect((await terminal.ended).code).toBe(255);
    expect(terminal.text()).toContain("The worker that ran the shell was lost. Open a new shell.");
    await vi.waitFor(() => expect(processesWith(mark)).toEqual([]), waitOptions);
  });
});
