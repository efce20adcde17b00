import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openRepositories, type RepositoriesOptions } from "../src/repositories/repositories.ts";
import {
  git,
  type HttpServer,
  makeFolder,
  Origin,
  type SshServer,
  serveHttp,
  serveSsh,
} from "./git-server.ts";
import { silent } from "./sandbox-support.ts";

/** Who gets in, and that what lets them in is left nowhere. */

const token = "s3cret-t0ken-of-ada";
const signal = new AbortController().signal;

let origins: ReturnType<typeof makeFolder>;
let keys: ReturnType<typeof makeFolder>;
let own: ReturnType<typeof makeFolder>;
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
  own = makeFolder();
  http.requests.length = 0;
});
afterEach(() => {
  http.before = () => {};
  own.remove();
});

function open(options: Partial<RepositoriesOptions> = {}) {
  const { folder } = own;
  return openRepositories({ folder, allowedPaths: [], log: silent, insecureHosts: [http.host], ...options });
}
const webUrl = () => `http://${http.host}/private.git`;
const shellUrl = () => `ssh://${ssh.user}@127.0.0.1:${ssh.port}${origin.bare}`;

/** The forms in which a secret could stand somewhere. */
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
    () => expect.unreachable("it should have been refused"),
    (each) => each,
  );
  return {
    code: error.code,
    message: error.message,
    remedy: error.remedy,
    whole: JSON.stringify(error) + error.stack,
  };
}

describe("a private repository over http", () => {
  test("opens with a token alone or with a user and a token, and the credential is left nowhere", async () => {
    const seen: string[] = [];
    const progress: string[] = [];
    http.before = () => void seen.push(...commandLines());
    for (const credential of [token, `x-access-token:${token}`, `${token}\n`]) {
      const options = { signal, onProgress: (text: string) => progress.push(text) };
      const resolved = await open().resolve({ url: webUrl(), credential }, options);
      expect(resolved).toMatchObject({ commit, ref: "refs/heads/main" });
      expect(JSON.stringify(resolved)).not.toContain(token);
      expect(git(resolved.mirror, "config", "--list", "--local")).not.toMatch(/url|helper|proxy/);
    }
    expect(seen.filter((line) => line.includes(http.host)).length).toBeGreaterThan(0);
    for (const form of formsOf(token)) expect([...seen, ...progress].join("\n")).not.toContain(form);
    expect(progress.length).toBeGreaterThan(0);
    expect(findIn(own.folder, token)).toEqual([]);
  });

  test("stays closed without a credential or with a wrong one, and the error repeats no secret", async () => {
    const without = await failure(open().resolve({ url: webUrl() }, { signal }));
    expect(without).toMatchObject({
      code: "external_authentication_required",
      message: expect.stringContaining("there are none"),
      remedy: expect.stringContaining("secret"),
    });
    const wrong = "wr0ng-t0ken";
    const refused = await failure(open().resolve({ url: webUrl(), credential: wrong }, { signal }));
    expect(refused).toMatchObject({ code: "external_authentication_required" });
    expect(refused.message).toContain("does not accept");
    expect(refused.whole).not.toContain(wrong);
    expect(findIn(own.folder, wrong)).toEqual([]);
  });

  test("is asked each time, so that a mirror opens nothing to whoever lacks the credential", async () => {
    const repositories = open();
    const shared = { url: webUrl(), sharedBy: "ada" };
    await repositories.resolve({ ...shared, credential: token }, { signal });
    const refused = await failure(repositories.resolve({ ...shared, ref: commit }, { signal }));
    expect(refused.code).toBe("external_authentication_required");
  });

  test("has a mirror for each credential, or for all of one name", async () => {
    const repositories = open();
    const mirrorOf = async (more: object) =>
      (await repositories.resolve({ url: webUrl(), ...more }, { signal })).mirror;
    const one = await mirrorOf({ credential: token });
    const other = await mirrorOf({ credential: `x-access-token:${token}` });
    expect(other).not.toBe(one);
    const named = await mirrorOf({ credential: token, sharedBy: "ada" });
    expect(await mirrorOf({ credential: `x-access-token:${token}`, sharedBy: "ada" })).toBe(named);
    expect(new Set([one, other, named]).size).toBe(3);
  });

  test("keeps the credential from another host to which the server sends git", async () => {
    const thief = await serveHttp(origins.folder, "nobody:knows");
    http.before = ({ url }, response) => {
      response.writeHead(302, { location: `http://${thief.host}${url}` }).end();
    };
    const refused = await failure(open().resolve({ url: webUrl(), credential: token }, { signal }));
    await thief.stop();
    expect(refused.code).toBe("external_authentication_required");
    expect(thief.requests.length).toBeGreaterThan(0);
    expect(thief.requests.map(({ authorization }) => authorization)).not.toContain(
      `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`,
    );
    expect(thief.requests.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  test("is not even asked over http unless the operator says so", async () => {
    const refused = await failure(
      open({ insecureHosts: [] }).resolve({ url: webUrl(), credential: token }, { signal }),
    );
    expect(refused).toMatchObject({ code: "environment_setup_failed", remedy: "Use its https address." });
    expect(http.requests).toEqual([]);
  });
});

describe("a private repository over ssh", () => {
  test("opens with its key, which is left nowhere", async () => {
    const secret = ssh.key.split("\n")[2] as string;
    const seen: string[] = [];
    let running = true;
    const sampling = (async () => {
      for (; running; await delay(1)) seen.push(...commandLines());
    })();
    const credential = ssh.key.replaceAll("\n", "\r\n").trim();
    const resolved = await open().resolve({ url: shellUrl(), credential }, { signal });
    running = false;
    await sampling;
    expect(resolved).toMatchObject({ commit });
    const ours = seen.filter((line) => line.includes(own.folder));
    expect(ours.some((line) => line.startsWith("ssh "))).toBe(true);
    expect(seen.join("\n")).not.toContain(secret);
    expect(findIn(own.folder, secret)).toEqual([]);
    const inMemory = readdirSync("/dev/shm").filter((name) => name.startsWith("outrider-"));
    expect(inMemory).toEqual([]);
    // As a person would write it, too.
    const short = `${ssh.user}@127.0.0.1:${origin.bare}`;
    const viaCommand = open({
      sshProxyCommand: `/bin/bash -c 'exec 3<>/dev/tcp/127.0.0.1/${ssh.port}; cat <&3 & cat >&3'`,
    });
    expect(await viaCommand.resolve({ url: short, credential }, { signal })).toMatchObject({ commit });
  });

  test("stays closed without a key, with another key, or with something that is no key", async () => {
    const of = (credential?: string) =>
      failure(open().resolve({ url: shellUrl(), ...(credential ? { credential } : {}) }, { signal }));
    expect(await of()).toMatchObject({ code: "external_authentication_required" });
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(own.folder, "other")]);
    const other = readFileSync(join(own.folder, "other"), "utf8");
    const refused = await of(other);
    expect(refused.message).toContain("does not accept the private key");
    expect(refused.whole).not.toContain(other.split("\n")[2]);
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "phrase", "-f", join(own.folder, "locked")]);
    expect(await of(readFileSync(join(own.folder, "locked"), "utf8"))).toMatchObject({
      code: "external_authentication_required",
      message: expect.stringMatching(/passphrase|does not accept/),
    });
    expect((await of(token)).message).toContain("is not a private key");
    const forWeb = await failure(open().resolve({ url: webUrl(), credential: ssh.key }, { signal }));
    expect(forWeb.message).toContain("is not a token");
  });

  test("is refused when the host shows another key than before, or one that the operator does not know", async () => {
    const repositories = open();
    await repositories.resolve({ url: shellUrl(), credential: ssh.key }, { signal });
    await ssh.changeHostKey();
    const changed = await failure(repositories.resolve({ url: shellUrl(), credential: ssh.key }, { signal }));
    expect(changed).toMatchObject({
      code: "external_authentication_required",
      message: expect.stringContaining("another host key"),
    });
    const knownHosts = join(own.folder, "operators");
    writeFileSync(knownHosts, "");
    const strict = open({ knownHosts });
    const unknown = await failure(strict.resolve({ url: shellUrl(), credential: ssh.key }, { signal }));
    expect(unknown.message).toContain("not in the list of known hosts");
    const [type, key] = readFileSync(join(keys.folder, "host.pub"), "utf8").split(" ");
    writeFileSync(knownHosts, `[127.0.0.1]:${ssh.port} ${type} ${key}\n`);
    expect(await strict.resolve({ url: shellUrl(), credential: ssh.key }, { signal })).toMatchObject({
      commit,
    });
  });
});

describe("behind a proxy", () => {
  const proxySecret = "pr0xy-s3cret";
  const login = `Basic ${Buffer.from(`worker:${proxySecret}`).toString("base64")}`;

  async function serveProxy(answer: number) {
    const asked: string[] = [];
    const proxy = createServer((incoming, response) => {
      if (incoming.headers["proxy-authorization"] !== login) return response.writeHead(407).end();
      asked.push(`${incoming.method} ${incoming.url}`);
      if (answer !== 200) return response.writeHead(answer).end();
      const { method, headers } = incoming;
      const onward = request(incoming.url as string, { method: method as string, headers }, (reply) => {
        response.writeHead(reply.statusCode as number, reply.headers);
        reply.pipe(response);
      });
      incoming.pipe(onward);
    });
    proxy.on("connect", (incoming, socket) => {
      if (incoming.headers["proxy-authorization"] !== login) return socket.end("HTTP/1.1 407 Who\r\n\r\n");
      asked.push(`CONNECT ${incoming.url}`);
      if (answer !== 200) return socket.end(`HTTP/1.1 ${answer} No\r\n\r\n`);
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
    return { asked, url, stop };
  }

  test("everything goes through it, and its secret is in no command line", async () => {
    const proxy = await serveProxy(200);
    const seen: string[] = [];
    http.before = () => void seen.push(...commandLines());
    expect(
      await open({ proxyUrl: proxy.url }).resolve({ url: webUrl(), credential: token }, { signal }),
    ).toMatchObject({ commit });
    expect(proxy.asked.length).toBe(http.requests.length);
    expect(seen.join("\n")).not.toContain(proxySecret);
    expect(findIn(own.folder, proxySecret)).toEqual([]);
    await proxy.stop();
  });

  test("ssh goes through it by the command that it is given, and not at all without one", async () => {
    const proxy = await serveProxy(200);
    const program = join(own.folder, "connect.mjs");
    writeFileSync(
      program,
      `import { request } from "node:http";
      const { hostname, port, username, password } = new URL(process.env.OUTRIDER_PROXY);
      const authorization = "Basic " + Buffer.from(username + ":" + password).toString("base64");
      const path = process.argv.slice(2).join(":");
      request({ hostname, port, method: "CONNECT", path, headers: { "proxy-authorization": authorization } })
        .on("connect", (_, socket) => { process.stdin.pipe(socket).pipe(process.stdout); socket.on("close", () => process.exit()); })
        .end();`,
    );
    const sshProxyCommand = `${process.execPath} ${program} %h %p`;
    const through = open({ proxyUrl: proxy.url, sshProxyCommand });
    expect(await through.resolve({ url: shellUrl(), credential: ssh.key }, { signal })).toMatchObject({
      commit,
    });
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT 127.0.0.1:${ssh.port}`]));
    const without = await failure(
      open({ proxyUrl: proxy.url }).resolve({ url: shellUrl(), credential: ssh.key }, { signal }),
    );
    expect(without.message).toContain("no repositories by ssh");
    await proxy.stop();
  });

  test("that refuses a host, the error says so and not that credentials are wrong", async () => {
    const proxy = await serveProxy(403);
    const url = "https://git.example.com/owner/name";
    const refused = await failure(
      open({ proxyUrl: proxy.url }).resolve({ url, credential: token }, { signal }),
    );
    expect(proxy.asked).toEqual(["CONNECT git.example.com:443"]);
    expect(refused).toMatchObject({
      code: "environment_setup_failed",
      message: "The worker's proxy does not let it reach git.example.com.",
    });
    expect(refused.whole).not.toContain(proxySecret);
    await proxy.stop();
  });
});
