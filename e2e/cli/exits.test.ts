import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestInstallation, type TestInstallation } from "../../packages/worker/test/installation.ts";
import { type FaultProxy, startFaultProxy } from "../clients/fault-proxy.ts";
import { type Cli, createCli } from "./cli.ts";

/** Tests exit codes and error messages. */

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

describe("exit code after a run", () => {
  test.each([
    ["succeeded", "SAY: yes", 0],
    ["failed", "FAIL: no", 1],
    ["asks a question", "ASK: what?", 8],
  ])("%s", async (_, script, code) => {
    expect((await cli(["run", script, "--wait"])).code).toBe(code);
    expect((await cli(["run", script, "--follow"])).code).toBe(code);
    expect((await cli(["run", script, "--wait", "--json"])).json.run_id).toBeDefined();
  });

  test("cancelled by another client", async () => {
    const following = cli.start(["run", "RUN: echo begun; sleep 30", "--follow"]);
    await following.waitForOutput("$ echo begun");
    const [, run] = /Run (\S+)/.exec(following.stderr()) ?? [];
    await installation.call("POST", `/agent/runs/${run}/cancel`);
    expect((await following.ended).code).toBe(7);
  });

  test("--timeout expired: the run continues", async () => {
    const { code, stderr } = await cli(["run", "RUN: sleep 30", "--wait", "--timeout", "1"]);
    expect(code).toBe(6);
    const [, run = ""] = /Run (\S+) is still in progress/.exec(stderr) ?? [];
    expect(["QUEUED", "INPROGRESS"]).toContain((await installation.get(run)).state);
    await installation.call("POST", `/agent/runs/${run}/cancel`);
  });

  test("the answer goes to stdout, everything else to stderr", async () => {
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
  ])("%j prints to stdout and exits with 0", async (args) => {
    expect(await cli(args)).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(/^Usage: outrider /),
    });
  });

  test("prints to stderr and exits with 2 without a command", async () => {
    expect(await cli([])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^Usage: outrider /),
    });
  });
});

describe("invalid commands", () => {
  test.each([
    ["an unknown command", ["rnus"], 'Unknown command "rnus". Did you mean runs?'],
    [
      "an unknown option",
      ["runs", "list", "--stat", "X"],
      "Unknown option --stat. Did you mean --state? See `outrider runs list --help`.",
    ],
    ["no argument", ["runs", "get"], "The argument <run> is missing."],
    ["too many arguments", ["run", "a", "b"], "`outrider run` accepts 1 argument, but got 2."],
    ["an option without a value", ["runs", "list", "--env"], "--env requires a value."],
    [
      "a value that is not a choice",
      ["runs", "list", "--sort", "size"],
      '--sort must be created_at, updated_at, title, cost or duration, not "size".',
    ],
    ["an invalid time", ["runs", "list", "--created-after", "soon"], "a time ago such as 30m, 12h or 7d"],
    ["no command", ["runs"], "Usage: outrider runs"],
    ["an invalid choice", ["completion", "tcsh"], "bash, zsh, fish or powershell"],
    ["an invalid number", ["run", "x", "--priority", "high"], "--priority must be a number"],
    ["an unknown limit", ["run", "x", "--limit", "max_step=1"], "max_steps"],
    ["an invalid pair", ["run", "x", "--metadata", "k"], "name=value"],
    ["a duplicate name", ["run", "x", "--metadata", "k=1", "--metadata", "k=2"], "twice"],
    ["a missing file", ["run", "@nowhere.txt"], "Cannot read nowhere.txt: the file does not exist."],
    ["an option without effect", ["run", "x", "--timeout", "5"], "--follow or --wait"],
    [
      "--follow together with --wait",
      ["run", "x", "--follow", "--wait"],
      "--follow cannot be combined with --wait.",
    ],
    [
      "a global option for a command that does not support it",
      ["--server", "http://x", "completion", "bash"],
      "does not support",
    ],
    [
      "two output formats",
      ["runs", "transcript", "x", "--json", "--format", "markdown"],
      "cannot be combined",
    ],
    ["an invalid URL", ["me", "--server", "nonsense"], "is not a valid URL"],
    ["a password in the URL", ["me", "--server", "http://u:p@host"], "login"],
    ["a request that the server rejects", ["run", "x", "--model", "none-such"], "available: `scripted`"],
  ])("%s exits with 2 and explains the error", async (_, args, words) => {
    const { code, stdout, stderr } = await cli(args);
    expect(stderr).toContain(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toMatch(/\n {4}at /);
  });

  test("an invalid command creates no run", async () => {
    proxy.set([]);
    await cli(["run", "SAY: x", "--timeout", "5"]);
    await cli(["run", "SAY: x", "--env", "nowhere"]);
    expect(proxy.seen().filter(({ method }) => method === "POST")).toEqual([]);
  });

  test("an unknown name exits with 4 and lists the known names", async () => {
    await cli(["env", "create", "kitchen", "--network", "none"]);
    const { code, stderr } = await cli(["run", "x", "--env", "kitchn"]);
    expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringContaining('"kitchen"') });
  });
});

describe("failed API calls", () => {
  const missing = ["runs", "get", "01a1dd05-60a1-72a4-8a92-385dd55c22d1"];

  test("prints the error with its trace ID, or the problem details with --json", async () => {
    const { code, stderr, stdout } = await cli(missing);
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toMatch(/^outrider: No run with this ID .*\n {2}trace [0-9a-f]{32}\n$/);
    const json = await cli([...missing, "--json"]);
    expect(json).toMatchObject({ code: 4, stdout: "" });
    expect(JSON.parse(json.stderr)).toMatchObject({ error_code: "resource_not_found", status: 404 });
  });

  test.each([
    ["an unreachable server", ["me", "--server", "http://127.0.0.1:9"], 5, "connection_failed"],
    ["invalid usage", ["runs", "get"], 2, "usage"],
    ["no key", ["me", "--server", "http://127.0.0.1:9"], 3, "authentication_required"],
  ])("prints JSON for %s", async (name, args, code, error_code) => {
    const environment: Record<string, string> = name === "no key" ? { OUTRIDER_API_KEY: "" } : {};
    const result = await cli([...args, "--json"], { environment });
    expect(result).toMatchObject({ code, stdout: "" });
    expect(JSON.parse(result.stderr)).toMatchObject({ error_code });
  });

  test("says in plain words why a server cannot be reached", async () => {
    const { stderr } = await cli(["me", "--server", "http://127.0.0.1:4"]);
    expect(stderr).toBe(
      "outrider: Cannot connect to http://127.0.0.1:4: the connection was refused. Check the server URL and that the server is running.\n",
    );
  });

  test("exits with 1 on a conflict and with 5 on a server error", async () => {
    const run = await installation.create(["SAY: x"]);
    await installation.until(run, "SUCCEEDED");
    expect((await cli(["runs", "cancel", run])).code).toBe(1);
    proxy.set([{ kind: "answer", status: 500, times: 3 }]);
    expect((await cli(["me"])).code).toBe(5);
    proxy.set([]);
  });

  test("creates one run when the response is lost", async () => {
    proxy.set([{ kind: "cut", forwarded: true, method: "POST", path: "/agent/run" }]);
    const { code, json } = await cli(["run", "SAY: once", "--name", "only one", "--json"]);
    expect(code).toBe(0);
    const listed = await cli(["runs", "list", "--name", "only one", "-q"]);
    expect(listed.stdout).toBe(`${json.run_id}\n`);
  });
});

test("SDK logs go to stderr and do not contain the key", async () => {
  const environment = { OUTRIDER_LOG: "debug" };
  const { stdout, stderr } = await cli(["me"], { environment });
  expect(stderr).toContain("/me");
  expect(stdout).not.toContain("/me returned");
  expect(stdout + stderr).not.toContain(installation.key);
});
