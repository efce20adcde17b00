import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandEnvironment, serviceEnvironment } from "../../src/sandboxes/local/command-environment.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { OpenOptions, Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { inMs, makeRoot, run, silent } from "./sandbox-support.ts";

/** What the commands of agents and builds find in a sandbox: package managers, git, and the devices that tools expect. */

const { root, remove } = makeRoot();
let provider: SandboxProvider;
let sandbox: Sandbox;

const open = (options: Partial<OpenOptions> = {}) =>
  provider.open({ id: randomUUID(), deadline: inMs(300_000), label: {}, ...options });
const command = (text: string, timeoutMs = 120_000) =>
  run(sandbox, text, { env: commandEnvironment, timeoutMs, mergeOutput: true });

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
  sandbox = await open();
});
afterAll(async () => {
  await sandbox?.close();
  await provider?.stop();
  await remove();
});

describe("a command can install a program and call it", () => {
  test("with npm install -g", async () => {
    const { stdout } = await command(`
mkdir -p npm/bin && cd npm
echo '{"name": "hello-npm", "version": "1.0.0", "bin": {"hello-npm": "bin/hello"}}' > package.json
printf '#!/bin/sh\\necho hello from npm\\n' > bin/hello && chmod +x bin/hello
npm install --silent --offline --global . && cd / && hello-npm`);
    expect(stdout).toBe("hello from npm\n");
  });

  test("with pip install, although Debian's Python is externally managed", async () => {
    const { stdout } = await command(`
mkdir -p pip/hello_pip && cd pip
echo 'def main(): print("hello from pip")' > hello_pip/__init__.py
echo 'from setuptools import setup
setup(name="hello-pip", version="1", packages=["hello_pip"], entry_points={"console_scripts": ["hello-pip=hello_pip:main"]})' > setup.py
/usr/bin/python3 -m pip install --quiet --no-index --no-build-isolation . && cd / && hello-pip`);
    expect(stdout).toMatch(/hello from pip\n$/);
  });

  test.runIf(existsSync("/usr/local/go/bin/go"))("with go install", async () => {
    const { stdout } = await command(`
mkdir -p hello-go && cd hello-go && echo 'module example.com/hello-go' > go.mod
echo 'package main
func main() { println("hello from go") }' > main.go
GOFLAGS=-mod=mod GOTOOLCHAIN=local go install . && cd / && hello-go`);
    expect(stdout).toBe("hello from go\n");
  });
});

test("the worker's own scripts and MCP servers do not use programs of the home instead of the system's", async () => {
  await command(
    "mkdir -p ~/.local/bin && printf '#!/bin/sh\\necho mine\\n' > ~/.local/bin/cat && chmod +x ~/.local/bin/cat",
  );
  expect((await command("echo x | cat")).stdout).toBe("mine\n");
  expect((await run(sandbox, "echo x | cat")).stdout).toBe("x\n");
  expect((await run(sandbox, "echo x | cat", { env: serviceEnvironment })).stdout).toBe("x\n");
  await sandbox.write("written", Buffer.from("by a script"));
  expect((await sandbox.read("written", 100)).toString()).toBe("by a script");
});

test("ripgrep is installed, and no command can change it", async () => {
  const { stdout } = await command(
    "rg --version | head -1; touch /opt/outrider/bin/x; rm -f /opt/outrider/bin/rg; ls /opt/outrider/bin",
  );
  expect(stdout).toMatch(
    /^ripgrep \d.*\n.*Read-only.*\n.*Read-only.*\noutrider-init\nrg\nsandbox-copy\nsandbox-files\nsnapshot-files\nsystem-changes\nworkspace-diff\n$/,
  );
});

test("the locale is UTF-8, and there is no terminal", async () => {
  const { stdout } = await command(
    'locale charmap; echo "$TERM"; python3 -c "print(\'ü\')"; tty; (: < /dev/tty) 2> /dev/null || echo no terminal',
  );
  expect(stdout).toBe("UTF-8\ndumb\nü\nnot a tty\nno terminal\n");
});

test("/dev/shm is a small file system in memory that Python's semaphores can use", async () => {
  const { stdout } = await command(
    "stat -c %a /dev/shm; df -m --output=size /dev/shm | tail -1; python3 -c 'import multiprocessing; print(multiprocessing.Lock())'",
  );
  expect(stdout).toMatch(/^1777\n +64\n<Lock/);
});

describe("git commit", () => {
  const show = "git log -1 --format='%an <%ae>, %cn'";
  const commit = `git init -q repo; cd repo && git commit -q --allow-empty -m x && ${show}`;

  test.each([
    ["Outrider", undefined, "Outrider <outrider@localhost.invalid>, Outrider"],
    [
      "the given author",
      { name: "Ada Lovelace", email: "ada@example.com" },
      "Ada Lovelace <ada@example.com>, Outrider",
    ],
    [
      "an author with unusual characters",
      { name: 'A "b" \\c <d>\n[user]\n\tname = e#; ü', email: " f@g " },
      'A "b" \\c d[user]name = e#; ü <f@g>, Outrider',
    ],
    [
      "Outrider instead of an unusable author",
      { name: "<>", email: "..." },
      "Outrider <outrider@localhost.invalid>, Outrider",
    ],
  ])("works with %s", async (_, gitAuthor, expected) => {
    const own = await open(gitAuthor ? { gitAuthor } : {});
    expect((await run(own, commit)).stdout).toBe(`${expected}\n`);
    await own.close();
  });

  test("prefers the author that a repository configures", async () => {
    const configure =
      "git init -q repo; git -C repo config user.name Own; git -C repo config user.email own@example.com";
    expect((await command(`cd $(mktemp -d); ${configure}; ${commit}`)).stdout).toBe(
      "Own <own@example.com>, Outrider\n",
    );
  });
});

test("commands and paths are relative to the working folder while it exists", async () => {
  const own = await open({ workingFolder: "/workspace/it's here" });
  expect((await run(own, 'pwd; mkdir -p "it\'s here"; pwd')).stdout).toBe("/workspace\n/workspace\n");
  await own.write("file", Buffer.from("inside"));
  expect((await run(own, "pwd; cat file; cat '/workspace/it'\\''s here/file'")).stdout).toBe(
    "/workspace/it's here\ninsideinside",
  );
  expect((await own.read("file", 100)).toString()).toBe("inside");
  await own.close();
});
