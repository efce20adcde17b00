import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestInstallation, type TestInstallation } from "../../packages/worker/test/installation.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { type Cli, createCli, type Terminal } from "./cli.ts";

/** Tests shells in the sandboxes of environments, through the CLI and real workers. */

const SECRET = "the-token-of-the-registry";

let installation: TestInstallation;
let cli: Cli;
/** An environment whose second setup command fails. */
let failing: string;
/** An environment with a finished build. */
let ready: string;

beforeAll(async () => {
  installation = await startTestInstallation();
  await installation.worker();
  cli = createCli({
    OUTRIDER_API_KEY: installation.key,
    OUTRIDER_BASE_URL: `${installation.origin}/api/v1`,
  });
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
  cli?.[Symbol.dispose]();
  await installation?.stop();
});

async function createEnvironment(body: object): Promise<string> {
  const name = `env ${randomUUID().slice(0, 8)}`;
  const reply = await installation.call("POST", "/agent/environments", { body: { name, ...body } });
  expect(reply.status).toBe(201);
  return reply.body.environment_id;
}

/** Opens a shell in a terminal and waits for its prompt. */
async function openTerminal(environment: string): Promise<Terminal> {
  const terminal = cli.terminal(["env", "shell", environment]);
  await terminal.waitForOutput("to disconnect");
  terminal.type("PS1='ready> '\r");
  await terminal.waitForOutput("ready> ");
  return terminal;
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
});

describe("without a terminal", () => {
  test("runs the commands of stdin", async () => {
    const { code, stdout, stderr } = await cli(["env", "shell", ready], {
      input: "cat file; echo problem >&2; tty; exit 3",
    });
    expect({ code, stdout }).toEqual({ code: 3, stdout: "prepared\nnot a tty\n" });
    expect(stderr).toBe("Waiting for a worker…\nproblem\n");
  });
});
