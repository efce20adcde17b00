import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { startHostProxy } from "../../src/egress/host-proxy.ts";
import { openRepositories, type RepositoriesOptions } from "../../src/repositories/repositories.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeRoot, silent } from "../sandboxes/sandbox-support.ts";
import { checkOut, fetchAll, type Repos } from "./checkout-support.ts";
import { type HttpServer, makeFolder, Origin, type SshServer, serveHttp, serveSsh } from "./git-server.ts";
import { LfsServer } from "./lfs-server.ts";

/** Git LFS files: how the worker downloads them, and how they behave in a checkout without git-lfs. */

const { root, remove } = makeRoot();
const origins = makeFolder();
const other = makeFolder();
const sshFolder = makeFolder();
const login = "ada:first-token";
let server: HttpServer;
let otherServer: HttpServer;
let ssh: SshServer;
let lfs: LfsServer;
let provider: SandboxProvider;
let repositories: Repositories;
let count = 0;

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
  [server, otherServer, ssh] = await Promise.all([
    serveHttp(origins.folder, login),
    serveHttp(other.folder, login),
    serveSsh(sshFolder.folder),
  ]);
  repositories = open("repositories");
});
afterEach(() => {
  lfs = new LfsServer(server, login);
});
afterAll(async () => {
  await Promise.all([server?.stop(), otherServer?.stop(), ssh?.stop()]);
  await provider?.stop();
  await remove();
  for (const folder of [origins, other, sshFolder]) folder.remove();
});
beforeAll(() => {
  lfs = new LfsServer(server, login);
});

function open(folder: string, options: Partial<RepositoriesOptions> = {}): Repositories {
  return openRepositories({
    folder: join(root, "..", folder),
    allowedPaths: [origins.folder],
    insecureHosts: [server.host, otherServer.host],
    log: silent,
    ...options,
  });
}

const attributes = { ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\nraw/*.bin -filter\n" };

function makeOrigin(files: Record<string, string> = {}) {
  const name = `origin-${++count}`;
  const origin = new Origin(origins.folder, name);
  origin.push("main", { ...attributes, ...files });
  return { origin, name, url: `http://${server.host}/${name}.git` };
}

const environmentOf = (url: string, more: object = {}): Repos => ({
  repos: [{ url, path: "top", secret: "TOKEN", ...more }],
  credentials: { TOKEN: login },
});
const fixture = () => ({ repositories, provider });
const fetchFrom = (url: string, more: object = {}) => fetchAll(fixture(), environmentOf(url, more));

describe("Git LFS files", () => {
  test("are checked out, and behave like other files without git-lfs", async () => {
    const content = randomBytes(300_000);
    const { oid, pointer } = lfs.add(content);
    const unused = lfs.add("not downloaded");
    const { url } = makeOrigin({
      "media/a b.bin": pointer,
      "media/copy.bin": pointer,
      "empty.bin": "",
      "not-a-pointer.bin": "content\n",
      "raw/pointer.bin": unused.pointer,
      "docs/pointer.txt": unused.pointer,
    });
    const { bash, diff } = await checkOut(fixture(), environmentOf(url));
    expect(lfs.downloads).toEqual([oid]);
    expect(await bash("cd top/media && sha256sum < 'a b.bin' && cmp 'a b.bin' copy.bin")).toBe(`${oid}  -`);
    expect(await bash("cat top/raw/pointer.bin")).toBe(unused.pointer.trimEnd());
    expect(await bash("cd top && git status --porcelain && touch media/* && git status --porcelain")).toBe(
      "",
    );
    expect(await bash("cd top && rm media/copy.bin && git checkout -q . && cmp media/*")).toBe("");
    expect(await diff()).toBe("");
    expect(await bash("grep -rlE 'first-token|/run/outrider' top/.git || true")).toBe("");

    const changed = createHash("sha256").update("changed\n").digest("hex");
    await bash("cd top && echo changed > media/copy.bin");
    expect(await diff()).toContain(`-oid sha256:${oid}\n-size 300000\n+oid sha256:${changed}\n+size 8\n`);
    expect(await bash("ls top/.git/lfs/objects top/.git/lfs/tmp")).not.toContain(changed.slice(0, 2));
    await bash("git config --global user.name a; git config --global user.email b");
    expect(
      await bash(
        "cd top && git commit -qam x && git status --porcelain && git checkout -q HEAD~ && git checkout -q - && cat media/copy.bin",
      ),
    ).toBe("changed");
    expect(await bash("mv top moved && git -C moved status --porcelain")).toBe("");
  });

  test("can be left as pointers", async () => {
    const { pointer } = lfs.add("large");
    const { url } = makeOrigin({ "a.bin": pointer });
    const { bash } = await checkOut(fixture(), environmentOf(url, { lfs: false }));
    expect(await bash("cat top/a.bin && git -C top status --porcelain")).toBe(pointer.trimEnd());
    expect(lfs.downloads).toEqual([]);
  });

  test("of submodules and of a branch that has moved are checked out too", async () => {
    const [first, second] = [lfs.add("first"), lfs.add("second")];
    const inner = makeOrigin({ "x.bin": first.pointer });
    const { origin, name, url } = makeOrigin({ "a.bin": first.pointer });
    const link = `160000,${inner.origin.run("rev-parse", "HEAD")},inner`;
    origin.run("update-index", "--add", "--cacheinfo", link);
    mkdirSync(join(origin.copy, "inner"));
    origin.push("main", { ".gitmodules": `[submodule "inner"]\npath = inner\nurl = ../${inner.name}.git\n` });
    const before = await checkOut(fixture(), environmentOf(url));
    expect(await before.bash("cat top/a.bin top/inner/x.bin && git -C top status --porcelain")).toBe(
      "firstfirst",
    );
    origin.push("main", { "a.bin": second.pointer });
    const after = await before.continue();
    expect(await after.bash("cat top/a.bin && git -C top status --porcelain")).toBe("second");
    expect(lfs.downloads).toHaveLength(3);
    expect(name).not.toBe(inner.name);
  });

  test("are downloaded once per mirror, count as its size and expire", async () => {
    const own = open("expiring");
    const { pointer, oid } = lfs.add(randomBytes(1_000_000));
    const { origin, url } = makeOrigin({ "a.bin": pointer });
    const fetchOwn = () => fetchAll({ repositories: own, provider }, environmentOf(url));
    await fetchOwn();
    origin.push("main", { b: "1" });
    const { fetched } = await fetchOwn();
    expect(lfs.downloads).toEqual([oid]);
    expect(own.bytes()).toBeGreaterThan(1_000_000);
    const file = join(fetched[0]?.mirror ?? "", "lfs/objects", oid.slice(0, 2), oid.slice(2, 4), oid);
    utimesSync(file, 0, 0);
    await own.prune({ keep: [], maxBytes: 1e9 });
    expect(own.bytes()).toBeLessThan(1_000_000);
    await fetchOwn();
    expect(lfs.downloads).toEqual([oid, oid]);
    expect(readdirSync(join(root, "..", "expiring", "scratch"))).toEqual([]);
  });

  test("are found over ssh with git-lfs-authenticate", async () => {
    const { pointer, oid } = lfs.add("over ssh");
    const { name } = makeOrigin({ "a.bin": pointer });
    const path = `${origins.folder}/${name}.git`;
    const header = { Authorization: `Basic ${Buffer.from(login).toString("base64")}` };
    const answer = JSON.stringify({ href: `http://${server.host}/${name}.git/info/lfs`, header });
    const url = `ssh://${ssh.user}@127.0.0.1:${ssh.port}${path}`;
    const environment = { repos: [{ url, path: "top", secret: "KEY" }], credentials: { KEY: ssh.key } };
    await expect(fetchAll(fixture(), environment)).rejects.toThrow("does not offer Git LFS over ssh");
    const script = `#!/bin/sh\n[ "$*" = '${path} download' ] && echo '${answer}'\n`;
    writeFileSync(join(sshFolder.folder, "git-lfs-authenticate"), script, { mode: 0o755 });
    await fetchAll(fixture(), environment);
    expect(lfs.downloads).toEqual([oid]);
  });

  test("of a repository on the worker's machine are read from its lfs folder", async () => {
    const { pointer, oid } = lfs.add("local");
    const { origin } = makeOrigin({ "a.bin": pointer });
    const environment = { repos: [{ url: `file://${origin.bare}`, path: "top" }] };
    await expect(fetchAll(fixture(), environment)).rejects.toThrow(
      `The Git LFS file "a.bin" (${oid}) cannot be downloaded: it is not in the repository's lfs folder.`,
    );
    const folder = join(origin.bare, "lfs/objects", oid.slice(0, 2), oid.slice(2, 4));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, oid), "local");
    const { bash } = await checkOut(fixture(), environment);
    expect(await bash("cat top/a.bin")).toBe("local");
  });

  test("are downloaded only from addresses that the worker's proxy allows", async () => {
    const { pointer, oid } = lfs.add("proxied");
    const { url } = makeOrigin({ "a.bin": pointer });
    const proxy = await startHostProxy({ exceptions: parseExceptions(server.host), log: silent });
    onTestFinished(() => proxy.close());
    const proxied = { repositories: open("proxied", { proxyUrl: proxy.url }), provider };
    const refused = `http://${otherServer.host}/x`;
    lfs.change = ({ oid }) => ({ oid, actions: { download: { href: refused } } });
    otherServer.requests.length = 0;
    await expect(fetchAll(proxied, environmentOf(url))).rejects.toMatchObject({
      code: "environment_setup_failed",
      message: expect.stringContaining(
        `proxy does not allow connections to the Git LFS server ${otherServer.host}`,
      ),
    });
    expect(otherServer.requests).toEqual([]);
    lfs.change = (object) => object;
    await fetchAll(proxied, environmentOf(url));
    expect(lfs.downloads).toEqual([oid]);
  });
});

describe("the credential", () => {
  test("is required, and is not sent to another host", async () => {
    const { pointer } = lfs.add("secret");
    const elsewhere = `[lfs]\nurl = http://${otherServer.host}/x.git/info/lfs\n`;
    const { url } = makeOrigin({ "a.bin": pointer, ".lfsconfig": elsewhere });
    const otherLfs = new LfsServer(otherServer, login);
    otherServer.requests.length = 0;
    await expect(fetchFrom(url)).rejects.toMatchObject({
      code: "external_authentication_required",
      message: expect.stringContaining(
        `The Git LFS server ${otherServer.host} of ${url} requires other credentials`,
      ),
    });
    expect(otherServer.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
    expect(otherLfs.downloads).toEqual([]);
  });

  test("is not in the message of an error, even if the server repeats it", async () => {
    const { pointer } = lfs.add("secret");
    const { url } = makeOrigin({ "a.bin": pointer });
    lfs.change = ({ oid }) => ({ oid, error: { message: `no ${login} first-token\n` } });
    const error = await fetchFrom(url).catch((reason: Error) => reason);
    expect((error as Error).message).toMatch(/cannot be downloaded: no \*\*\*/);
    expect((error as Error).message).not.toMatch(/first-token|\n/);
  });

  test("and the headers of a download do not follow a redirect to another host", async () => {
    const { pointer } = lfs.add("redirected");
    const { url } = makeOrigin({ "a.bin": pointer });
    lfs.intercept = (_request, response) => {
      response.writeHead(302, { location: `http://${otherServer.host}/stolen` }).end();
      return true;
    };
    otherServer.before = () => {};
    otherServer.requests.length = 0;
    await expect(fetchFrom(url)).rejects.toThrow("HTTP status 401");
    expect(otherServer.requests).toMatchObject([{ url: "/stolen", authorization: undefined }]);
  });
});

describe("a hostile or broken server", () => {
  test("cannot send other content", async () => {
    const { pointer } = lfs.add("expected");
    const { url } = makeOrigin({ "media/a.bin": pointer });
    for (const send of [
      () => Buffer.from("EXPECTED"),
      () => Buffer.alloc(10_000_000),
      () => Buffer.from("exp"),
    ]) {
      lfs.send = send;
      await expect(fetchFrom(url)).rejects.toMatchObject({
        code: "environment_setup_failed",
        message: expect.stringContaining('sent content for "media/a.bin" that does not match its pointer'),
      });
    }
    lfs.send = (content) => content;
    expect((await fetchFrom(url)).fetched).toMatchObject([{ usesLfs: true }]);
  });

  test.for([
    [
      "no download",
      () => ({ error: { code: 404, message: "No such object." } }),
      /"a.bin".*: No such object. Upload it/,
    ],
    ["an answer for another object", () => ({ oid: "x" }), /does not mention it/],
    ["a file URL", () => action("file:///etc/passwd"), /not a supported URL/],
    ["an unencrypted URL", () => action("http://192.0.2.1/x"), /not a supported URL/],
    ["a URL with credentials", () => action("https://a:b@192.0.2.1/x"), /not a supported URL/],
  ] as const)("with %s fails with a clear error", async ([, change, message]) => {
    const { pointer } = lfs.add("hostile");
    const { url } = makeOrigin({ "a.bin": pointer });
    lfs.change = ({ oid }) => ({ oid, ...change() });
    await expect(fetchFrom(url)).rejects.toMatchObject({
      code: "environment_setup_failed",
      message: expect.stringMatching(message),
    });
  });

  const action = (href: string) => ({ actions: { download: { href, header: { Host: "x", "X-A": 1 } } } });

  test("that fails for a moment is asked again", async () => {
    const { pointer, oid } = lfs.add("retried");
    const { url } = makeOrigin({ "a.bin": pointer });
    let failures = 0;
    lfs.intercept = (_request, response) => {
      if (failures++ > 0) return false;
      response.writeHead(503).end();
      return true;
    };
    await fetchFrom(url);
    expect(lfs.downloads).toEqual([oid]);
  });
});

test("files beyond the worker's limits are rejected", async () => {
  const { pointer } = lfs.add("a");
  const huge = pointer.replace("size 1\n", "size 999999999999\n");
  const { url } = makeOrigin({ "a.bin": huge });
  await expect(fetchFrom(url)).rejects.toThrow("exceed this worker's size limit");
});
