import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startWorld, type World } from "../../packages/worker/test/world.ts";
import { type FaultProxy, startFaultProxy } from "../clients/fault-proxy.ts";
import { type Cli, makeCli } from "./cli.ts";

/** What the process ends with, and what it says then. */

vi.setConfig({ testTimeout: 60_000 });

let world: World;
let proxy: FaultProxy;
let cli: Cli;
beforeAll(async () => {
  world = await startWorld();
  await world.worker();
  proxy = await startFaultProxy(world.origin);
  cli = makeCli({ OUTRIDER_API_KEY: world.key, OUTRIDER_BASE_URL: `${proxy.origin}/api/v1` });
});
afterAll(async () => {
  cli?.[Symbol.dispose]();
  await proxy?.close();
  await world?.stop();
});

describe("the outcome of a run", () => {
  test.each([
    ["succeeded", "SAY: yes", 0],
    ["failed", "FAIL: no", 1],
    ["asks something", "ASK: what?", 8],
  ])("%s", async (_, script, code) => {
    expect((await cli(["run", script, "--wait"])).code).toBe(code);
    expect((await cli(["run", script, "--follow"])).code).toBe(code);
    expect((await cli(["run", script, "--wait", "--json"])).json.run_id).toBeDefined();
  });

  test("cancelled, by whomever", async () => {
    const following = cli.start(["run", "RUN: echo begun; sleep 30", "--follow"]);
    await following.says("$ echo begun");
    const [, run] = /Run (\S+)/.exec(following.stderr()) ?? [];
    await world.call("POST", `/agent/runs/${run}/cancel`);
    expect((await following.ended).code).toBe(7);
  });

  test("waited long enough: the run goes on", async () => {
    const { code, stderr } = await cli(["run", "RUN: sleep 30", "--wait", "--timeout", "1"]);
    expect(code).toBe(6);
    const [, run = ""] = /Run (\S+) is still at work/.exec(stderr) ?? [];
    expect(["QUEUED", "INPROGRESS"]).toContain((await world.get(run)).state);
    await world.call("POST", `/agent/runs/${run}/cancel`);
  });

  test("words go to stdout, everything about them to stderr", async () => {
    const { stdout, stderr } = await cli(["run", "SAY: only this", "--wait"]);
    expect(stdout).toBe("only this\n");
    expect(stderr).toContain("SUCCEEDED");
    const quiet = await cli(["run", "SAY: only this", "--wait", "--quiet"]);
    expect(quiet).toMatchObject({ stdout: "only this\n", stderr: "" });
    const started = await cli(["run", "SAY: x", "-q"]);
    expect(started).toMatchObject({ stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/), stderr: "" });
  });
});

describe("help", () => {
  test.each([
    [["--help"]],
    [["help"]],
    [["runs", "--help"]],
    [["help", "runs"]],
    [["runs", "list", "-h"]],
    [["run", "-h"]],
  ])("%j goes to stdout and ends with 0", async (args) => {
    expect(await cli(args)).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(/^Usage: outrider /),
    });
  });

  test("without a command it goes to stderr and ends with 2", async () => {
    expect(await cli([])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^Usage: outrider /),
    });
  });
});

describe("what is wrong with a command", () => {
  test.each([
    ["an unknown command", ["rnus"], "Did you mean runs?"],
    ["an unknown option", ["runs", "list", "--stat", "X"], "--stat"],
    ["no argument", ["runs", "get"], "missing required argument"],
    ["no command", ["runs"], "Usage: outrider runs"],
    ["a choice that there is not", ["completion", "tcsh"], "bash, zsh, fish"],
    ["a number that is none", ["run", "x", "--priority", "high"], "--priority takes a number"],
    ["a limit that there is not", ["run", "x", "--limit", "max_step=1"], "max_steps"],
    ["a pair that is none", ["run", "x", "--metadata", "k"], "name=value"],
    ["a name twice", ["run", "x", "--metadata", "k=1", "--metadata", "k=2"], "twice"],
    ["a file that is not there", ["run", "@nowhere.txt"], "nowhere.txt"],
    ["an option that would do nothing", ["run", "x", "--timeout", "5"], "--follow and --wait"],
    ["both ways to watch", ["run", "x", "--follow", "--wait"], "cannot be used with"],
    [
      "an option before a command that does not know it",
      ["--server", "http://x", "completion", "bash"],
      "takes no",
    ],
    ["two forms at once", ["runs", "transcript", "x", "--json", "--format", "markdown"], "contradict"],
    ["an address that is none", ["me", "--server", "nonsense"], "is no address"],
    ["a password in the address", ["me", "--server", "http://u:p@host"], "login"],
    ["what the server refuses", ["run", "x", "--model", "none-such"], "available: `scripted`"],
  ])("%s ends with 2 and says what to do", async (_, args, words) => {
    const { code, stdout, stderr } = await cli(args);
    expect(stderr).toContain(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toMatch(/\n {4}at /);
  });

  test("nothing is started by a command that is refused", async () => {
    proxy.set([]);
    await cli(["run", "SAY: x", "--timeout", "5"]);
    await cli(["run", "SAY: x", "--env", "nowhere"]);
    expect(proxy.seen().filter(({ method }) => method === "POST")).toEqual([]);
  });

  test("names that there are not end with 4, and tell those that there are", async () => {
    await cli(["env", "create", "kitchen", "--network", "none"]);
    const { code, stderr } = await cli(["run", "x", "--env", "kitchn"]);
    expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringContaining('"kitchen"') });
  });
});

describe("what is wrong with a call", () => {
  const missing = ["runs", "get", "01a1dd05-60a1-72a4-8a92-385dd55c22d1"];

  test("the sentence comes with the trace id, and with --json it is the problem itself", async () => {
    const { code, stderr, stdout } = await cli(missing);
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toMatch(/^outrider: There is no run .*\n {2}trace [0-9a-f]{32}\n$/);
    const json = await cli([...missing, "--json"]);
    expect(json).toMatchObject({ code: 4, stdout: "" });
    expect(JSON.parse(json.stderr)).toMatchObject({ error_code: "resource_not_found", status: 404 });
  });

  test.each([
    ["a server that is not there", ["me", "--server", "http://127.0.0.1:9"], 5, "connection_failed"],
    ["bad usage", ["runs", "get"], 2, "usage"],
    ["no key", ["me", "--server", "http://127.0.0.1:9"], 3, "authentication_required"],
  ])("%s is JSON too", async (name, args, code, error_code) => {
    const environment: Record<string, string> = name === "no key" ? { OUTRIDER_API_KEY: "" } : {};
    const said = await cli([...args, "--json"], { environment });
    expect(said).toMatchObject({ code, stdout: "" });
    expect(JSON.parse(said.stderr)).toMatchObject({ error_code });
  });

  test("a conflict ends with 1, a server's failure with 5", async () => {
    const run = await world.create(["SAY: x"]);
    await world.until(run, "SUCCEEDED");
    expect((await cli(["runs", "cancel", run])).code).toBe(1);
    proxy.set([{ kind: "answer", status: 500, times: 3 }]);
    expect((await cli(["me"])).code).toBe(5);
    proxy.set([]);
  });

  test("a create whose answer is lost starts one run", async () => {
    proxy.set([{ kind: "cut", forwarded: true, method: "POST", path: "/agent/run" }]);
    const { code, json } = await cli(["run", "SAY: once", "--name", "only one", "--json"]);
    expect(code).toBe(0);
    const listed = await cli(["runs", "list", "--name", "only one", "-q"]);
    expect(listed.stdout).toBe(`${json.run_id}\n`);
  });
});

test("what the SDK logs goes to stderr, and the key is in none of it", async () => {
  const environment = { OUTRIDER_LOG: "debug" };
  const { stdout, stderr } = await cli(["me"], { environment });
  expect(stderr).toContain("/me");
  expect(stdout).not.toContain("/me answered");
  expect(stdout + stderr).not.toContain(world.key);
});
