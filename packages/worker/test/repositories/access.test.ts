import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openRepositories, type RepositoriesOptions } from "../../src/repositories/repositories.ts";
import { silent } from "../sandboxes/sandbox-support.ts";
import {
  git,
  type HttpServer,
  makeFolder,
  Origin,
  type SshServer,
  serveHttp,
  serveSsh,
} from "./git-server.ts";

/** Authentication, and that credentials are not left anywhere. */

const token = "s3cret-t0ken-of-ada";
const signal = new AbortController().signal;

let origins: ReturnType<typeof makeFolder>;
let keys: ReturnType<typeof makeFolder>;
let cache: ReturnType<typeof makeFolder>;
let origin: Origin;
let commit: string;
let http: HttpServer;
let ssh: SshServer;

beforeAll(async () => {
  origins = makeFolder();
  keys = makeFolder();
  origin = new Origin(origins.folder, "private");
  commit = origin.push("main", { a: "1" });
  http = await serveHttp(origins.folder, `x-access-token:${token}`);
  ssh = await serveSsh(keys.folder);
});
afterAll(async () => {
  await http.stop();
  await ssh.stop();
  origins.remove();
  keys.remove();
});
beforeEach(() => {
  cache = makeFolder();
  http.requests.length = 0;
});
afterEach(() => {
  http.before = () => {};
  cache.remove();
});

function open(options: Partial<RepositoriesOptions> = {}) {
  const { folder } = cache;
  return openRepositories({ folder, allowedPaths: [], log: silent, insecureHosts: [http.host], ...options });
}
const httpUrl = () => `http://${http.host}/private.git`;
const sshUrl = () => `ssh://${ssh.user}@127.0.0.1:${ssh.port}${origin.bare}`;

/** The encodings in which a secret could appear. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString("base64").slice(0, -4), bytes.toString("hex"), encodeURIComponent(secret)];
}

function findIn(folder: string, secret: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  const texts = files
    .filter((file) => lstatSync(file).isFile())
    .map((file) => [file, readFileSync(file, "latin1")]);
  return texts.flatMap(([file = "", text = ""]) =>
    formsOf(secret).some((form) => text.includes(form)) ? [file] : [],
  );
}

function commandLines(): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")] : [];
    } catch {
      return [];
    }
  });
}

async function failure(work: Promise<unknown>) {
  const error = await work.then(
    () => expect.unreachable("it should have failed"),
    (reason) => reason,
  );
  return {
    code: error.code,
    message: error.message,
    remedy: error.remedy,
    whole: JSON.stringify(error) + error.stack,
  };
}

describe("a private repository over http", () => {
  test("can be read with a token or `user:token`, and the credential is not left anywhere", async () => {
    const seen: string[] = [];
    const progress: string[] = [];
    http.before = () => void seen.push(...commandLines());
    for (const credential of [token, `x-access-token:${token}`, `${token}\n`]) {
      const options = { signal, onProgress: (text: string) => progress.push(text) };
      const resolved = await open().resolve({ url: httpUrl(), credential }, options);
      expect(resolved).toMatchObject({ commit, ref: "refs/heads/main" });
      expect(JSON.stringify(resolved)).not.toContain(token);
      expect(git(resolved.mirror, "config", "--list", "--local")).not.toMatch(/url|helper|proxy/);
    }
    expect(seen.filter((line) => line.includes(http.host)).length).toBeGreaterThan(0);
    for (const form of formsOf(token)) expect([...seen, ...progress].join("\n")).not.toContain(form);
    expect(progress.length).toBeGreaterThan(0);
    expect(findIn(cache.folder, token)).toEqual([]);
  });

  test("cannot be read without a valid credential, and the error contains no secret", async () => {
    const without = await failure(open().resolve({ url: httpUrl() }, { signal }));
    expect(without).toMatchObject({
      code: "external_authentication_required",
      message: expect.stringContaining("none are configured"),
      remedy: expect.stringContaining("secret"),
    });
    const wrong = "wr0ng-t0ken";
    const refused = await failure(open().resolve({ url: httpUrl(), credential: wrong }, { signal }));
    expect(refused).toMatchObject({ code: "external_authentication_required" });
    expect(refused.message).toContain("rejected the credentials");
    expect(refused.whole).not.toContain(wrong);
    expect(findIn(cache.folder, wrong)).toEqual([]);
  });

  test("checks the credential each time, even if a mirror exists", async () => {
    const repositories = open();
    const shared = { url: httpUrl(), sharedBy: "ada" };
    await repositories.resolve({ ...shared, credential: token }, { signal });
    const refused = await failure(repositories.resolve({ ...shared, ref: commit }, { signal }));
    expect(refused.code).toBe("external_authentication_required");
  });

  test("has one mirror per credential or per owner name", async () => {
    const repositories = open();
    const mirrorOf = async (more: object) =>
      (await repositories.resolve({ url: httpUrl(), ...more }, { signal })).mirror;
    const one = await mirrorOf({ credential: token });
    const other = await mirrorOf({ credential: `x-access-token:${token}` });
    expect(other).not.toBe(one);
    const named = await mirrorOf({ credential: token, sharedBy: "ada" });
    expect(await mirrorOf({ credential: `x-access-token:${token}`, sharedBy: "ada" })).toBe(named);
    expect(new Set([one, other, named]).size).toBe(3);
  });

  test("does not send the credential to another host after a redirect", async () => {
    const otherHost = await serveHttp(origins.folder, "other:login");
    http.before = ({ url }, response) => {
      response.writeHead(302, { location: `http://${otherHost.host}${url}` }).end();
    };
    const refused = await failure(open().resolve({ url: httpUrl(), credential: token }, { signal }));
    await otherHost.stop();
    expect(refused.code).toBe("external_authentication_required");
    expect(otherHost.requests.length).toBeGreaterThan(0);
    expect(otherHost.requests.map(({ authorization }) => authorization)).not.toContain(
      `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`,
    );
    expect(otherHost.requests.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  test("is not contacted over http unless the operator allows it", async () => {
    const refused = await failure(
      open({ insecureHosts: [] }).resolve({ url: httpUrl(), credential: token }, { signal }),
    );
    expect(refused).toMatchObject({ code: "environment_setup_failed", remedy: "Use its https URL." });
    expect(http.requests).toEqual([]);
  });
});

describe("a private repository over ssh", () => {
  test("can be read with its key, and the key is not left anywhere", async () => {
    const secret = ssh.key.split("\n")[2] as string;
    const seen: string[] = [];
    let running = true;
    const sampling = (async () => {
      for (; running; await delay(1)) seen.push(...commandLines());
    })();
    const credential = ssh.key.replaceAll("\n", "\r\n").trim();
    const resolved = await open().resolve({ url: sshUrl(), credential }, { signal });
    running = false;
    await sampling;
    expect(resolved).toMatchObject({ commit });
    const gitCommandLines = seen.filter((line) => line.includes(cache.folder));
    expect(gitCommandLines.some((line) => line.startsWith("ssh "))).toBe(true);
    expect(seen.join("\n")).not.toContain(secret);
    expect(findIn(cache.folder, secret)).toEqual([]);
    const inMemory = readdirSync("/dev/shm").filter((name) => name.startsWith("outrider-"));
    expect(inMemory).toEqual([]);
    // The scp-like form works too.
    const short = `${ssh.user}@127.0.0.1:${origin.bare}`;
    const viaCommand = open({
      sshProxyCommand: `/bin/bash -c 'exec 3<>/dev/tcp/127.0.0.1/${ssh.port}; cat <&3 & cat >&3'`,
    });
    expect(await viaCommand.resolve({ url: short, credential }, { signal })).toMatchObject({ commit });
  });

  test("cannot be read without a key, with another key or with an invalid key", async () => {
    const resolveWith = (credential?: string) =>
      failure(open().resolve({ url: sshUrl(), ...(credential ? { credential } : {}) }, { signal }));
    expect(await resolveWith()).toMatchObject({ code: "external_authentication_required" });
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(cache.folder, "other")]);
    const other = readFileSync(join(cache.folder, "other"), "utf8");
    const refused = await resolveWith(other);
    expect(refused.message).toContain("rejected the private key");
    expect(refused.whole).not.toContain(other.split("\n")[2]);
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "phrase", "-f", join(cache.folder, "locked")]);
    expect(await resolveWith(readFileSync(join(cache.folder, "locked"), "utf8"))).toMatchObject({
      code: "external_authentication_required",
      message: expect.stringMatching(/passphrase|rejected/),
    });
    expect((await resolveWith(token)).message).toContain("is not a private key");
    const overHttp = await failure(open().resolve({ url: httpUrl(), credential: ssh.key }, { signal }));
    expect(overHttp.message).toContain("is not a token");
  });

  test("is rejected if the host key has changed or is not in the operator's list", async () => {
    const repositories = open();
    await repositories.resolve({ url: sshUrl(), credential: ssh.key }, { signal });
    await ssh.changeHostKey();
    const changed = await failure(repositories.resolve({ url: sshUrl(), credential: ssh.key }, { signal }));
    expect(changed).toMatchObject({
      code: "external_authentication_required",
      message: expect.stringMatching(/host key .* has changed/),
    });
    const knownHosts = join(cache.folder, "operators");
    writeFileSync(knownHosts, "");
    const strict = open({ knownHosts });
    const unknown = await failure(strict.resolve({ url: sshUrl(), credential: ssh.key }, { signal }));
    expect(unknown.message).toContain("not in the list of known hosts");
    const [type, key] = readFileSync(join(keys.folder, "host.pub"), "utf8").split(" ");
    writeFileSync(knownHosts, `[127.0.0.1]:${ssh.port} ${type} ${key}\n`);
    expect(await strict.resolve({ url: sshUrl(), credential: ssh.key }, { signal })).toMatchObject({
      commit,
    });
  });
});

describe("a worker behind a proxy", () => {
  const proxySecret = "pr0xy-s3cret";
  const login = `Basic ${Buffer.from(`worker:${proxySecret}`).toString("base64")}`;

  async function serveProxy(status: number) {
    const requests: string[] = [];
    const proxy = createServer((incoming, response) => {
      if (incoming.headers["proxy-authorization"] !== login) return response.writeHead(407).end();
      requests.push(`${incoming.method} ${incoming.url}`);
      if (status !== 200) return response.writeHead(status).end();
      const { method, headers } = incoming;
      const onward = request(incoming.url as string, { method: method as string, headers }, (reply) => {
        response.writeHead(reply.statusCode as number, reply.headers);
        reply.pipe(response);
      });
      incoming.pipe(onward);
    });
    proxy.on("connect", (incoming, socket) => {
      if (incoming.headers["proxy-authorization"] !== login) return socket.end("HTTP/1.1 407 Who\r\n\r\n");
      requests.push(`CONNECT ${incoming.url}`);
      if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      const [host = "", port] = (incoming.url as string).split(":");
      const onward = connect(Number(port), host, () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
      onward.pipe(socket).pipe(onward);
      for (const each of [onward, socket]) each.on("error", () => {});
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const url = `http://worker:${proxySecret}@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const stop = async () => {
      proxy.closeAllConnections();
      proxy.close();
      await once(proxy, "close");
    };
    return { requests, url, stop };
  }

  test("sends all traffic through it and keeps its secret out of command lines", async () => {
    const proxy = await serveProxy(200);
    const seen: string[] = [];
    http.before = () => void seen.push(...commandLines());
    expect(
      await open({ proxyUrl: proxy.url }).resolve({ url: httpUrl(), credential: token }, { signal }),
    ).toMatchObject({ commit });
    expect(proxy.requests.length).toBe(http.requests.length);
    expect(seen.join("\n")).not.toContain(proxySecret);
    expect(findIn(cache.folder, proxySecret)).toEqual([]);
    await proxy.stop();
  });

  test("uses the ssh proxy command, and rejects ssh URLs without one", async () => {
    const proxy = await serveProxy(200);
    const program = join(cache.folder, "connect.mjs");
    writeFileSync(
      program,
      `import { request } from "node:http";
      const { hostname, port, username, password } = new URL(process.env.OUTRIDER_PROXY);
      const authorization = "Basic " + Buffer.from(username + ":" + password).toString("base64");
      const path = process.argv.slice(2).join(":");
      request({ hostname, port, method: "CONNECT", path, headers: { "proxy-authorization": authorization } })
        .on("connect", (_, socket, head) => { process.stdout.write(head); process.stdin.pipe(socket).pipe(process.stdout); socket.on("close", () => process.exit()); })
        .end();`,
    );
    const sshProxyCommand = `${process.execPath} ${program} %h %p`;
    const through = open({ proxyUrl: proxy.url, sshProxyCommand });
    expect(await through.resolve({ url: sshUrl(), credential: ssh.key }, { signal })).toMatchObject({
      commit,
    });
    expect(new Set(proxy.requests)).toEqual(new Set([`CONNECT 127.0.0.1:${ssh.port}`]));
    const without = await failure(
      open({ proxyUrl: proxy.url }).resolve({ url: sshUrl(), credential: ssh.key }, { signal }),
    );
    expect(without.message).toContain("does not support ssh URLs");
    await proxy.stop();
  });

  test("reports a refused host as such, not as wrong credentials", async () => {
    const proxy = await serveProxy(403);
    const url = "https://git.example.com/owner/name";
    const refused = await failure(
      open({ proxyUrl: proxy.url }).resolve({ url, credential: token }, { signal }),
    );
    expect(proxy.requests).toEqual(["CONNECT git.example.com:443"]);
    expect(refused).toMatchObject({
      code: "environment_setup_failed",
      message: "The worker's proxy does not allow connections to git.example.com.",
    });
    expect(refused.whole).not.toContain(proxySecret);
    await proxy.stop();
  });
});
