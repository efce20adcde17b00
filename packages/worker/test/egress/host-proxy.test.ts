import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { startHostProxy } from "../../src/egress/host-proxy.ts";
import { silent } from "../sandboxes/sandbox-support.ts";
import { allowlist, closeAll, closeLater, serve, startProxy } from "./egress-support.ts";

const run = promisify(execFile);
const sshProxyCommand = fileURLToPath(new URL("../../src/egress/ssh-proxy-command.ts", import.meta.url));
const path = { PATH: process.env.PATH };

afterEach(closeAll);

async function hostProxy(exceptions = "127.0.0.1") {
  const proxy = await startHostProxy({ exceptions: parseExceptions(exceptions), log: silent });
  closeLater(() => proxy.close());
  return proxy;
}

async function hello(): Promise<string> {
  const port = await serve(createHttpServer((_, response) => response.end("hello")));
  return `http://127.0.0.1:${port}/`;
}

async function curl(...args: string[]): Promise<string> {
  const { stdout } = await run("curl", ["--silent", "--max-time", "10", "--noproxy", "", ...args], {
    env: path,
  });
  return stdout;
}

describe("curl", () => {
  test("reaches allowed hosts through a sandbox's proxy, by request and by tunnel", async () => {
    const url = await hello();
    const proxy = await startProxy({ exceptions: "127.0.0.1" });
    expect(await curl("--proxy", proxy.url, url, url)).toBe("hellohello");
    expect(await curl("--proxy", proxy.url, "--proxytunnel", url)).toBe("hello");
  });

  test("gets the reason of a refusal", async () => {
    const proxy = await startProxy({ policy: allowlist("good.example") });
    const answer = await curl("--proxy", proxy.url, "http://evil.example/");
    expect(answer).toContain("Outrider refused evil.example:80");
    await expect(curl("--proxy", proxy.url, "https://evil.example/")).rejects.toMatchObject({ code: 56 });
    expect(proxy.lookups).toEqual([]);
  });
});

describe("the proxy for the worker's own programs", () => {
  test("requires its credential, sent at once or after a challenge", async () => {
    const url = await hello();
    const { url: proxy } = await hostProxy();
    const bare = proxy.replace(/\/\/.*@/, "//");
    const status = ["--output", "/dev/null", "--write-out", "%{http_code} %{http_connect}", url];
    expect(await curl("--proxy", bare, ...status)).toBe("407 000");
    expect(await curl("--proxy", bare.replace("//", "//x:wrong@"), ...status)).toBe("407 000");
    await expect(curl("--proxy", bare, "--proxytunnel", url)).rejects.toMatchObject({ code: 56 });
    for (const more of [[], ["--proxy-anyauth"], ["--proxytunnel"], ["--proxytunnel", "--proxy-anyauth"]])
      expect(await curl("--proxy", proxy, ...more, url), more.join()).toBe("hello");
  });

  test("refuses this machine's addresses without an exception", async () => {
    const url = await hello();
    const { url: proxy } = await hostProxy("");
    expect(await curl("--proxy", proxy, url)).toContain(
      "resolves to a private, reserved or metadata address",
    );
  });

  test("works with git", async () => {
    const folder = await mkdtemp(join(tmpdir(), "outrider-egress-"));
    closeLater(() => rm(folder, { recursive: true, force: true }));
    const env = { ...path, HOME: folder, GIT_CONFIG_NOSYSTEM: "1" };
    const git = (args: string[], more = {}) => run("git", args, { cwd: folder, env: { ...env, ...more } });
    await git(["init", "--quiet", "--bare", "--initial-branch=main", "r.git"]);
    const who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    const tree = (await git(["-C", "r.git", "hash-object", "-t", "tree", "-w", "/dev/null"])).stdout.trim();
    const commit = (await git(["-C", "r.git", ...who, "commit-tree", tree, "-m", "one"])).stdout.trim();
    await git(["-C", "r.git", "update-ref", "refs/heads/main", commit]);
    await git(["-C", "r.git", "update-server-info"]);
    const asked: string[] = [];
    const port = await serve(
      createHttpServer(async (request, response) => {
        asked.push(request.url ?? "");
        const file = join(folder, (request.url ?? "").split("?")[0] ?? "");
        const content = await readFile(file).catch(() => undefined);
        response.writeHead(content ? 200 : 404).end(content);
      }),
    );
    const { url: proxy } = await hostProxy();
    const list = ["ls-remote", `http://127.0.0.1:${port}/r.git`];
    const { stdout } = await git(list, { http_proxy: proxy });
    expect(stdout).toContain(`${commit}\trefs/heads/main`);
    expect(asked.length).toBeGreaterThan(0);
    const strict = await hostProxy("");
    await expect(git(list, { http_proxy: strict.url })).rejects.toThrow("403");
  });
});

describe("the ssh proxy command", () => {
  async function connectTo(target: string[], proxy: string, input: string) {
    const child = spawn(process.execPath, [sshProxyCommand, ...target], {
      env: { OUTRIDER_PROXY: proxy },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].on("data", (chunk) => {
        output[name] += chunk;
      });
    child.stdin.on("error", () => {}).end(input);
    const [code] = await once(child, "close");
    return { code, ...output };
  }

  test("connects its stdin and stdout to the server", async () => {
    const port = await serve(
      createServer({ allowHalfOpen: true }, async (socket) => {
        socket.write("SSH-2.0-test\n");
        let heard = "";
        for await (const chunk of socket) heard += chunk;
        socket.end(`heard ${heard}`);
      }),
    );
    const { url } = await hostProxy();
    const result = await connectTo(["127.0.0.1", String(port)], url, "hello");
    expect(result).toEqual({ code: 0, stdout: "SSH-2.0-test\nheard hello", stderr: "" });
  });

  test("ends with the server even if stdin is still open", async () => {
    const port = await serve(createServer((socket) => socket.end("bye")));
    const { url } = await hostProxy();
    const child = spawn(process.execPath, [sshProxyCommand, "127.0.0.1", String(port)], {
      env: { OUTRIDER_PROXY: url },
      stdio: ["pipe", "ignore", "inherit"],
    });
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("prints why it fails", async () => {
    const { url } = await hostProxy("");
    const refused = await connectTo(["127.0.0.1", "22"], url, "");
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("outrider: Outrider refused 127.0.0.1:22: it resolves to a private");
    const wrong = await connectTo(["127.0.0.1", "22"], url.replace(/x:.*@/, "x:wrong@"), "");
    expect(wrong.stderr).toContain("requires a credential");
    const unreachable = await connectTo(["a.example", "22"], "http://127.0.0.1:1", "");
    expect(unreachable).toMatchObject({
      code: 1,
      stderr: "outrider: cannot reach the proxy (ECONNREFUSED)\n",
    });
    expect((await connectTo(["a b", "22"], url, "")).stderr).toContain("usage");
    expect((await connectTo(["a.example", "22"], "", "")).stderr).toContain("OUTRIDER_PROXY");
  });
});
