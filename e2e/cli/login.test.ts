import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { processesWith, startWorld, type World } from "../../packages/worker/test/world.ts";
import { type Cli, makeCli } from "./cli.ts";

vi.setConfig({ testTimeout: 60_000 });

let world: World;
let cli: Cli;
let config: string;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());
beforeEach(() => {
  cli = makeCli();
  config = join(cli.home, "config/outrider/config.json");
});
afterEach(() => cli[Symbol.dispose]());

const login = (...flags: string[]) =>
  cli(["login", "--server", world.origin, "--key-stdin", ...flags], { input: `${world.key}\n` });

describe("login", () => {
  test("asks for address and key, shows no key, and stores it for its owner alone", async () => {
    const terminal = cli.terminal(["login"]);
    await terminal.says("Server [http://127.0.0.1:4000]");
    terminal.type(`${world.origin}\r`);
    await terminal.says("not shown");
    expect(processesWith(world.key)).toEqual([]);
    terminal.type(`${world.key}\r`);
    expect((await terminal.ended).code).toBe(0);
    expect(terminal.text()).toContain("Logged in");
    expect(terminal.stdout()).not.toContain(world.key.slice(0, 12));
    expect(statSync(config).mode & 0o777).toBe(0o600);
    expect(statSync(join(config, "..")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(config, ".."))).toEqual(["config.json"]);
    expect((await cli(["me", "--json"])).json.role).toBe("admin");
  });

  test("takes the key from stdin for programs, and says so where there is no terminal", async () => {
    expect(await login()).toMatchObject({ code: 0, stdout: expect.stringContaining("Admin") });
    expect(await cli(["login"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--key-stdin") });
  });

  test("stores nothing that the server refuses, and does not repeat it", async () => {
    const wrong = `orp_${"x".repeat(40)}`;
    const said = await cli(["login", "--server", world.origin, "--key-stdin"], { input: wrong });
    expect(said.code).toBe(3);
    expect(said.stdout + said.stderr).not.toContain(wrong);
    expect(await cli(["me", "--server", world.origin])).toMatchObject({ code: 3 });
  });

  test("Ctrl-C leaves everything as it was", async () => {
    const terminal = cli.terminal(["login", "--server", world.origin]);
    await terminal.says("not shown");
    terminal.type("\x03");
    expect((await terminal.ended).code).toBe(130);
    expect(readdirSync(cli.home)).not.toContain("config");
  });

  test("a key as an argument is refused before it can be of use", async () => {
    expect((await cli(["login", "--key", world.key])).code).toBe(2);
    expect((await cli(["key", "revoke", world.key, "-y", "--server", world.origin])).code).not.toBe(0);
  });

  test("logout forgets it", async () => {
    await login();
    await login("--profile", "work");
    expect((await cli(["logout"])).code).toBe(0);
    expect((await cli(["me"])).code).toBe(3);
    expect((await cli(["me", "--profile", "work"])).code).toBe(0);
    expect((await cli(["logout", "--all"])).code).toBe(0);
    expect(readFileSync(config, "utf8")).not.toContain("orp_");
    expect((await cli(["logout"])).code).toBe(2);
  });
});

describe("which server and which key", () => {
  test("a profile is chosen by flag, then by variable, then the default", async () => {
    await login("--profile", "work");
    expect((await cli(["me"])).code).toBe(3);
    expect((await cli(["--profile", "work", "me"])).code).toBe(0);
    expect((await cli(["me"], { environment: { OUTRIDER_PROFILE: "work" } })).code).toBe(0);
    const unknown = await cli(["me", "--profile", "wrok"]);
    expect(unknown).toMatchObject({ code: 3, stderr: expect.stringContaining("login --profile wrok") });
  });

  test("variables stand above the profile, flags above both", async () => {
    await login();
    const nowhere = "http://127.0.0.1:9/api/v1";
    const environment = { OUTRIDER_BASE_URL: nowhere, OUTRIDER_API_KEY: world.key };
    expect((await cli(["me"], { environment })).code).toBe(5);
    expect((await cli(["me", "--server", world.origin], { environment })).code).toBe(0);
    expect((await cli(["me", "--profile", "default"], { environment })).code).toBe(0);
    expect((await cli(["me"], { environment: { OUTRIDER_API_KEY: "orp_wrong" } })).code).toBe(3);
  });

  test("a stored key goes to no other server than the one that it was stored for", async () => {
    await login();
    const heard: (string | undefined)[] = [];
    const other = createServer(({ headers }, response) => {
      heard.push(headers.authorization);
      response.end("{}");
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    expect((await cli(["me", "--server", address])).code).toBe(3);
    expect((await cli(["me"], { environment: { OUTRIDER_BASE_URL: address } })).code).toBe(3);
    other.close();
    expect(heard).toEqual([]);
  });

  test("with nothing stored, it says how to use the key of the installation here", async () => {
    mkdirSync(join(cli.home, ".outrider"));
    writeFileSync(join(cli.home, ".outrider/key"), world.key);
    const { code, stderr } = await cli(["me"]);
    expect(code).toBe(3);
    const [, command = ""] = /`(outrider login --key-stdin < \.outrider\/key)`/.exec(stderr) ?? [];
    expect(command).not.toBe("");
  });

  test("a file of profiles that is none is said to be so, without its content", async () => {
    await login();
    writeFileSync(config, readFileSync(config, "utf8").slice(0, -4));
    const { code, stderr } = await cli(["me"]);
    expect(code).toBe(2);
    expect(stderr).toContain(config);
    expect(stderr).not.toContain("orp_");
  });
});
