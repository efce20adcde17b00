import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  processesWith,
  startTestInstallation,
  type TestInstallation,
} from "../../packages/worker/test/installation.ts";
import { type Cli, createCli } from "./cli.ts";

let installation: TestInstallation;
let cli: Cli;
let config: string;
beforeAll(async () => {
  installation = await startTestInstallation();
});
afterAll(() => installation?.stop());
beforeEach(() => {
  cli = createCli();
  config = join(cli.home, "config/outrider/config.json");
});
afterEach(() => cli[Symbol.dispose]());

const login = (...flags: string[]) =>
  cli(["login", "--server", installation.origin, "--key-stdin", ...flags], {
    input: `${installation.key}\n`,
  });

describe("login", () => {
  test("prompts for server and key, hides the key, and stores it readable only by its owner", async () => {
    const terminal = cli.terminal(["login"]);
    await terminal.waitForOutput("Server [http://127.0.0.1:4000]");
    terminal.type(`${installation.origin}\r`);
    await terminal.waitForOutput("not shown");
    expect(processesWith(installation.key)).toEqual([]);
    terminal.type(`${installation.key}\r`);
    expect((await terminal.ended).code).toBe(0);
    expect(terminal.text()).toContain("Logged in");
    expect(terminal.stdout()).not.toContain(installation.key.slice(0, 12));
    expect(statSync(config).mode & 0o777).toBe(0o600);
    expect(statSync(join(config, "..")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(config, ".."))).toEqual(["config.json"]);
    expect((await cli(["me", "--json"])).json.role).toBe("admin");
  });

  test("reads the key from stdin, and suggests it without a terminal", async () => {
    expect(await login()).toMatchObject({ code: 0, stdout: expect.stringContaining("Admin") });
    expect(await cli(["login"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--key-stdin") });
  });

  test("neither stores nor prints a key that the server rejects", async () => {
    const wrong = `orp_${"x".repeat(40)}`;
    const result = await cli(["login", "--server", installation.origin, "--key-stdin"], { input: wrong });
    expect(result.code).toBe(3);
    expect(result.stdout + result.stderr).not.toContain(wrong);
    expect(await cli(["me", "--server", installation.origin])).toMatchObject({ code: 3 });
  });

  test("changes nothing on Ctrl-C", async () => {
    const terminal = cli.terminal(["login", "--server", installation.origin]);
    await terminal.waitForOutput("not shown");
    terminal.type("\x03");
    expect((await terminal.ended).code).toBe(130);
    expect(readdirSync(cli.home)).not.toContain("config");
  });

  test("rejects a key as an argument", async () => {
    expect((await cli(["login", "--key", installation.key])).code).toBe(2);
    expect(
      (await cli(["key", "revoke", installation.key, "-y", "--server", installation.origin])).code,
    ).not.toBe(0);
  });

  test("logout deletes the stored key", async () => {
    await login();
    await login("--profile", "work");
    expect((await cli(["logout"])).code).toBe(0);
    expect((await cli(["me"])).code).toBe(3);
    expect((await cli(["me", "--profile", "work"])).code).toBe(0);
    expect((await cli(["logout", "--all"])).code).toBe(0);
    expect(readFileSync(config, "utf8")).not.toContain("orp_");
    expect((await cli(["logout"])).code).toBe(2);
    const { code, stdout, stderr } = await cli(["logout", "--all"]);
    expect({ code, output: stdout + stderr }).toEqual({ code: 0, output: "No stored login found.\n" });
  });
});

describe("server and key", () => {
  test("chooses the profile by flag, then by variable, then the default", async () => {
    await login("--profile", "work");
    expect((await cli(["me"])).code).toBe(3);
    expect((await cli(["--profile", "work", "me"])).code).toBe(0);
    expect((await cli(["me"], { environment: { OUTRIDER_PROFILE: "work" } })).code).toBe(0);
    const unknown = await cli(["me", "--profile", "wrok"]);
    expect(unknown).toMatchObject({ code: 3, stderr: expect.stringContaining("login --profile wrok") });
  });

  test("flags override variables, which override the profile", async () => {
    await login();
    const nowhere = "http://127.0.0.1:9/api/v1";
    const environment = { OUTRIDER_BASE_URL: nowhere, OUTRIDER_API_KEY: installation.key };
    expect((await cli(["me"], { environment })).code).toBe(5);
    expect((await cli(["me", "--server", installation.origin], { environment })).code).toBe(0);
    expect((await cli(["me", "--profile", "default"], { environment })).code).toBe(0);
    expect((await cli(["me"], { environment: { OUTRIDER_API_KEY: "orp_wrong" } })).code).toBe(3);
  });

  test("sends a stored key only to the server that it was stored for", async () => {
    await login();
    const receivedKeys: (string | undefined)[] = [];
    const other = createServer(({ headers }, response) => {
      receivedKeys.push(headers.authorization);
      response.end("{}");
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    expect((await cli(["me", "--server", address])).code).toBe(3);
    expect((await cli(["me"], { environment: { OUTRIDER_BASE_URL: address } })).code).toBe(3);
    other.close();
    expect(receivedKeys).toEqual([]);
  });

  test("suggests the key of the local installation if none is stored", async () => {
    mkdirSync(join(cli.home, ".outrider"));
    writeFileSync(join(cli.home, ".outrider/key"), installation.key);
    const { code, stderr } = await cli(["me"]);
    expect(code).toBe(3);
    const [, command = ""] = /`(outrider login --key-stdin < \.outrider\/key)`/.exec(stderr) ?? [];
    expect(command).not.toBe("");
  });

  test("reports an invalid profile file without printing its content", async () => {
    await login();
    writeFileSync(config, readFileSync(config, "utf8").slice(0, -4));
    const { code, stderr } = await cli(["me"]);
    expect(code).toBe(2);
    expect(stderr).toContain(config);
    expect(stderr).not.toContain("orp_");
  });
});
