import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { GitEndpoint, type GitEndpointOptions, type PushTarget } from "../../src/publishing/git-endpoint.ts";
import { pktLine } from "../../src/publishing/receive-pack/pkt-line.ts";
import { git, gitWithInput, makeFolder, Origin } from "../repositories/git-server.ts";

/** The git endpoint with real git as its client. Publishing puts the pushed objects into a repository. */

const branch = "outrider/fix-1234";
let temporary: ReturnType<typeof makeFolder>;
let origin: Origin;
let server: Server;
let endpoint: GitEndpoint;
let target: PushTarget;
let publish: GitEndpointOptions["publish"];
let pushed: { path: string; tip: string }[];

beforeEach(async () => {
  temporary = makeFolder();
  origin = new Origin(temporary.folder, "site");
  const known = origin.push("main", { "README.md": "hello\n" });
  target = { path: "a b/site", branch, known };
  pushed = [];
  publish = async ({ path, tip, pack, onProgress }) => {
    gitWithInput(origin.bare, await buffer(pack), "index-pack", "--stdin", "--strict");
    onProgress("Checking the commits…");
    git(origin.bare, "update-ref", `refs/heads/${branch}`, tip);
    pushed.push({ path, tip });
    return { messages: [`Pushed to ${branch}.`] };
  };
  endpoint = new GitEndpoint({
    listTargets: () => [target],
    publish: (push) => publish(push),
    redact: (message) => message.replaceAll("hunter2", "***"),
    signal: new AbortController().signal,
  });
  server = createServer(endpoint.accept).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin.run("remote", "set-url", "--push", "origin", url("/a%20b/site"));
  origin.run("config", "remote.origin.push", `HEAD:refs/heads/${branch}`);
});
afterEach(async () => {
  await endpoint.close();
  server.close();
  temporary.remove();
});

const port = () => (server.address() as AddressInfo).port;
const url = (path: string) => `http://127.0.0.1:${port()}${path}`;

/** Runs git without blocking, because the endpoint is in this process. */
async function run(...args: string[]): Promise<{ exitCode: number | null; output: string }> {
  const child = spawn("git", args, {
    cwd: origin.copy,
    env: { PATH: process.env.PATH, HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = await once(child, "close");
  return { exitCode, output: (await output).join("") };
}

function commit(files: Record<string, string>): string {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(origin.copy, name), content);
  origin.run("add", "--all");
  origin.run("commit", "--quiet", "--allow-empty", "--message", "a change");
  return origin.run("rev-parse", "HEAD");
}

describe("git push", () => {
  test.each([
    ["git push", ["push"]],
    ["git push -u origin", ["push", "-u", "origin"]],
    ["its name", ["push", "-u", "origin", branch]],
    ["the full name of the branch", ["push", "--atomic", "origin", `HEAD:refs/heads/${branch}`]],
  ])("with %s pushes the run's branch and prints what happened", async (_name, args) => {
    const tip = commit({ "new.txt": "new\n" });
    origin.run("branch", branch);
    const { exitCode, output } = await run(...args);
    expect(output).toContain(`remote: Checking the commits…`);
    expect(output).toContain(`remote: Pushed to ${branch}.`);
    expect(exitCode).toBe(0);
    expect(pushed).toEqual([{ path: "a b/site", tip }]);
    expect(origin.run("rev-parse", `refs/remotes/origin/${branch}`)).toBe(tip);
  });

  test("does not send what the remote has, and follows the commit that was pushed last", async () => {
    target = { ...target, tip: commit({ "one.txt": "1\n" }) };
    let objects = 0;
    publish = async ({ pack }) => {
      objects = (await buffer(pack)).readUInt32BE(8);
      return { messages: [] };
    };
    commit({ "two.txt": "2\n" });
    expect((await run("push")).exitCode).toBe(0);
    expect(objects).toBe(3);
    origin.run("commit", "--quiet", "--amend", "--message", "other");
    target = { ...target, tip: origin.run("rev-parse", "HEAD@{1}") };
    expect((await run("push")).output).toContain("non-fast-forward");
    const forced = await run("push", `--force-with-lease=${branch}:${target.tip}`, "--push-option=x");
    expect(forced).toMatchObject({ exitCode: 0 });
  });

  test("sends a pack that is larger than git's buffer", async () => {
    const noise = Array.from({ length: 300_000 }, () => Math.random().toString(36).slice(2)).join("");
    const tip = commit({ "large.bin": noise });
    expect((await run("push")).exitCode).toBe(0);
    expect(pushed).toEqual([{ path: "a b/site", tip }]);
  });

  test("prints the reason if the changes are not published, without secrets", async () => {
    commit({ "new.txt": "new\n" });
    publish = async ({ pack }) => {
      pack.destroy();
      return { reason: "not published", messages: ["hunter2 is in config.ts:3.\nRemove it.\x1b[31m"] };
    };
    const { exitCode, output } = await run("push");
    expect(exitCode).toBe(1);
    expect(output).toContain("remote: *** is in config.ts:3.");
    expect(output).toMatch(/remote: Remove it\. \[31m/);
    expect(output).toContain(`! [remote rejected] HEAD -> ${branch} (not published)`);
  });

  test.each([
    [
      "HEAD on a branch with another name",
      ["push", "-u", "origin", "HEAD"],
      /Run: git push origin HEAD:refs/,
    ],
    [
      "another branch",
      ["push", "origin", "HEAD:refs/heads/main"],
      /Only the branch .* can be pushed. Run: git push origin HEAD:/,
    ],
    [
      "a branch with the same beginning",
      ["push", "origin", `HEAD:refs/heads/${branch}5`],
      /only .* can be pushed\)/,
    ],
    ["a tag", ["push", "origin", "v1"], /remote: Tags cannot be pushed/],
    ["all branches", ["push", "--all"], /remote: (Nothing was pushed|Only the branch)/],
    [
      "its branch together with another one",
      ["push", "origin", `HEAD:refs/heads/${branch}`, "HEAD:refs/heads/x"],
      /remote: Nothing was pushed/,
    ],
    [
      "the deletion of its branch",
      ["push", "origin", `:refs/heads/${branch}`],
      /remote: The branch .* cannot be deleted/,
    ],
    ["another ref", ["push", "origin", "HEAD:refs/notes/x"], /only .* can be pushed\)/],
  ])("refuses %s with the reason", async (_name, args, expected) => {
    target = { ...target, tip: commit({ "new.txt": "new\n" }) };
    commit({});
    origin.run("tag", "v1");
    origin.run("branch", "other");
    const { exitCode, output } = await run(...args);
    expect(output).toMatch(expected);
    expect(exitCode).toBe(1);
    expect(pushed).toEqual([]);
  });

  test("to a repository that cannot be published, and any fetch, are refused with a sentence", async () => {
    const unknown = await run("push", url("/other"), "HEAD:refs/heads/x");
    expect(unknown.output).toContain('cannot push to the repository "other". It can push to: a b/site.');
    const fetched = await run("fetch", url("/a%20b/site"));
    expect(fetched.output).toContain("Nothing can be fetched here. Fetch from the URL of `origin`.");
  });
});

describe("a hostile client", () => {
  const zero = "0".repeat(40);
  const push = (lines: (string | Buffer)[], { end = true } = {}) =>
    request(Buffer.concat([...lines.map(pktLine), ...(end ? [Buffer.from("0000")] : [])]));

  /** Sends a push with any content and returns the response. */
  async function request(body: Buffer, head = "POST /a%20b/site/git-receive-pack HTTP/1.1"): Promise<string> {
    const socket = connect(port(), "127.0.0.1");
    const answer = text(socket);
    socket.write(`${head}\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`);
    socket.write(body);
    return await answer;
  }

  const tip = "1".repeat(40);
  const own = `${zero} ${tip} refs/heads/${branch}`;

  test.each([
    ["no lines", Buffer.from("GARBAGE"), "not a git push"],
    ["a line that never ends", Buffer.from("00ff"), "ended too early"],
    ["a line of the largest length", Buffer.concat([Buffer.from("fff0"), Buffer.alloc(65_516)]), "too long"],
    ["a line with a reserved length", Buffer.from("0001"), "pushes do not have"],
  ])("that sends %s gets the reason", async (_name, body, expected) => {
    expect(await request(body)).toContain(expected);
  });

  test("cannot delete the branch, send more refs, or certificates and shallow commits", async () => {
    const report = "\0report-status";
    expect(await push([`${tip} ${zero} refs/heads/${branch}${report}`])).toContain(
      "ng refs/heads/outrider/fix-1234",
    );
    expect(await push([`${own}${report}`, `${zero} ${tip} refs/heads/main`])).toContain("ng refs/heads/main");
    expect(await push([`${own}${report}`, own])).toContain("pushed with other refs");
    expect(await push([`shallow ${tip}`, own])).toContain("shallow");
    expect(await push([`push-cert\0${report}`])).toContain("not a git push");
    expect(await push(Array.from({ length: 1_001 }, () => own))).toContain("too many refs");
    expect(await push([`${own}\0push-options`, ...[]], { end: true })).toContain("ended too early");
    expect(pushed).toEqual([]);
  });

  test("cannot use other methods, paths, encodings or invalid HTTP", async () => {
    expect(await request(Buffer.alloc(0), "POST /a%20b/site/git-upload-pack HTTP/1.1")).toContain(" 404 ");
    expect(await request(Buffer.alloc(0), "GET /a%20b/site/HEAD HTTP/1.1")).toContain(" 404 ");
    expect(await request(Buffer.alloc(0), "GET /%ff/info/refs?service=git-receive-pack HTTP/1.1")).toContain(
      " 404 ",
    );
    expect(await request(Buffer.alloc(0), "POST /../../etc/git-receive-pack HTTP/1.1")).toContain(" 404 ");
    const gzip = "POST /a%20b/site/git-receive-pack HTTP/1.1\r\nContent-Encoding: gzip";
    expect(await request(Buffer.alloc(8), gzip)).toContain(" 415 ");
    expect(await request(Buffer.alloc(0), "\x00\x01\x02")).toContain(" 400 ");
  });

  test("has one push at a time, which ends when its client goes away", async () => {
    let wasAborted = false;
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    publish = async ({ signal }) => {
      started.resolve();
      await once(signal, "abort");
      wasAborted = true;
      ended.resolve();
      throw signal.reason;
    };
    const socket = connect(port(), "127.0.0.1");
    socket.on("error", () => {});
    const body = Buffer.concat([pktLine(own), Buffer.from("0000")]);
    socket.write(`POST /a%20b/site/git-receive-pack HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n`);
    socket.write(body);
    await started.promise;
    expect(await request(body)).toContain("Another push is in progress.");
    socket.destroy();
    await ended.promise;
    expect(wasAborted).toBe(true);
  });

  test("cannot open many connections", async () => {
    const sockets = Array.from({ length: 40 }, () => connect(port(), "127.0.0.1"));
    const closed = sockets.slice(16).map((socket) =>
      once(
        socket.on("error", () => {}),
        "close",
      ),
    );
    await Promise.all(closed);
    for (const socket of sockets) socket.destroy();
  });
});
