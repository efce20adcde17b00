import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openRepositories, type RepositoriesOptions } from "../../src/repositories/repositories.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import { isRoot, processesWith, silent, until } from "../sandboxes/sandbox-support.ts";
import { git, type HttpServer, makeFolder, Origin, serveHttp } from "./git-server.ts";

/** How repositories are resolved, fetched and pruned, and the errors for what does not exist. */

let server: HttpServer;
let origins: ReturnType<typeof makeFolder>;
let cache: ReturnType<typeof makeFolder>;
let repositories: Repositories;
let count = 0;

beforeAll(async () => {
  origins = makeFolder();
  server = await serveHttp(origins.folder);
});
afterAll(async () => {
  await server.stop();
  origins.remove();
});
beforeEach(() => {
  cache = makeFolder();
  repositories = open();
  server.requests.length = 0;
});
afterEach(() => {
  server.sent = () => {};
  cache.remove();
});

const signal = new AbortController().signal;

function open(options: Partial<RepositoriesOptions> = {}): Repositories {
  const { folder } = cache;
  return openRepositories({
    folder,
    allowedPaths: [],
    log: silent,
    insecureHosts: [server.host],
    ...options,
  });
}

function makeOrigin() {
  const name = `origin-${++count}`;
  const origin = new Origin(origins.folder, name);
  return { origin, url: `http://${server.host}/${name}.git` };
}

function posts(): number {
  return server.requests.filter(({ method }) => method === "POST").length;
}

describe("a resolved commit", () => {
  test("is found without contacting the remote, even if its branch is deleted", async () => {
    const { origin, url } = makeOrigin();
    const commit = origin.push("main", { a: "1" });
    const { mirror } = await repositories.resolve({ url }, { signal });
    origin.run("checkout", "--quiet", "--orphan", "new");
    origin.push("main", { a: "2" });
    await repositories.resolve({ url }, { signal });
    server.requests.length = 0;
    expect(await repositories.find({ url }, commit, { signal })).toBe(mirror);
    expect(git(mirror, "cat-file", "-p", `${commit}:a`)).toBe("1");
    expect(server.requests).toEqual([]);
  });

  test("is not found in the mirror of another credential or if it does not exist", async () => {
    const { origin, url } = makeOrigin();
    const commit = origin.push("main", { a: "1" });
    expect(await repositories.find({ url }, commit, { signal })).toBeUndefined();
    await repositories.resolve({ url }, { signal });
    const find = (more: object, wanted = commit) => repositories.find({ url, ...more }, wanted, { signal });
    expect(await find({ credential: "a-token" })).toBeUndefined();
    expect(await find({ credential: "a-token", sharedBy: "ada" })).toBeUndefined();
    expect(await find({}, "0".repeat(40))).toBeUndefined();
    expect(await find({}, "0".repeat(64))).toBeUndefined();
    expect(await find({})).toEqual(expect.any(String));
  });
});

describe("a ref", () => {
  test("may be a branch, tag, full or abbreviated commit id, and defaults to the default branch", async () => {
    const { origin, url } = makeOrigin();
    const first = origin.push("main", { a: "1" });
    origin.run("tag", "light");
    origin.run("tag", "--annotate", "--message", "first", "v1");
    origin.run("push", "--quiet", "--tags", "origin");
    const second = origin.push("feature/x", { a: "2" });
    const resolve = (ref?: string) => repositories.resolve({ url, ...(ref ? { ref } : {}) }, { signal });

    expect(await resolve()).toMatchObject({ commit: first, ref: "refs/heads/main", notices: [] });
    expect(await resolve("feature/x")).toMatchObject({ commit: second, ref: "refs/heads/feature/x" });
    expect(await resolve("refs/heads/feature/x")).toMatchObject({ commit: second });
    expect(await resolve("v1")).toMatchObject({ commit: first, ref: "refs/tags/v1" });
    expect(await resolve("light")).toMatchObject({ commit: first, ref: "refs/tags/light" });
    const byId = await resolve(second);
    expect(byId).toMatchObject({ commit: second });
    expect(byId).not.toHaveProperty("ref");
    expect(await resolve(second.slice(0, 9))).toMatchObject({ commit: second });
    expect(git(byId.mirror, "cat-file", "-t", second)).toBe("commit");
  });

  test("other than a branch or tag is found by its full name", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { a: "1" });
    const commit = origin.push("gone", { a: "proposed" });
    origin.run("push", "--quiet", "origin", `${commit}:refs/pull/7/head`, ":refs/heads/gone");
    const resolved = await repositories.resolve({ url, ref: "refs/pull/7/head" }, { signal });
    expect(resolved).toMatchObject({ commit, ref: "refs/pull/7/head" });
    expect(git(resolved.mirror, "cat-file", "-p", `${commit}:a`)).toBe("proposed");
  });

  test("prefers a branch over a tag, and treats names like options or commit ids as names", async () => {
    const { origin, url } = makeOrigin();
    const tagged = origin.push("main", { a: "1" });
    origin.run(
      "push",
      "--quiet",
      "origin",
      `${tagged}:refs/tags/both`,
      `${tagged}:refs/heads/-upload-pack=x`,
    );
    const branch = origin.push("both", { a: "2" });
    const looksLikeCommit = tagged.replace(/^./, (digit) => (digit === "a" ? "b" : "a"));
    origin.run("push", "--quiet", "origin", `${branch}:refs/heads/${looksLikeCommit}`);
    expect(await repositories.resolve({ url, ref: "both" }, { signal })).toMatchObject({ commit: branch });
    expect(await repositories.resolve({ url, ref: "-upload-pack=x" }, { signal })).toMatchObject({
      commit: tagged,
    });
    expect(await repositories.resolve({ url, ref: looksLikeCommit }, { signal })).toMatchObject({
      commit: branch,
      ref: `refs/heads/${looksLikeCommit}`,
    });
  });

  test("that does not exist is reported with the closest names", async () => {
    const { origin, url } = makeOrigin();
    for (const branch of ["main", "release/1.2", "other"]) origin.push(branch, { a: branch });
    await expect(repositories.resolve({ url, ref: "relase/1.2" }, { signal })).rejects.toMatchObject({
      name: "RepositoryError",
      code: "environment_setup_failed",
      message: `The repository ${url} has no branch, tag or commit "relase/1.2". Closest names: "release/1.2".`,
      remedy: expect.stringMatching(/\w+/),
    });
    for (const ref of [
      "0123456789012345678901234567890123456789",
      "abcdef12",
      "HEAD~1",
      "--all",
      "main^{tree}",
    ]) {
      await expect(repositories.resolve({ url, ref }, { signal })).rejects.toThrow(`"${ref}"`);
    }
  });

  test("is found in a SHA-256 repository", async () => {
    const { url, origin } = makeOrigin();
    for (const folder of [origin.bare, origin.copy]) rmSync(folder, { recursive: true });
    git("/", "init", "--quiet", "--bare", "--object-format=sha256", "--initial-branch=main", origin.bare);
    git("/", "init", "--quiet", "--object-format=sha256", origin.copy);
    origin.run("remote", "add", "origin", origin.bare);
    const commit = origin.push("main", { a: "1" });
    expect(commit).toHaveLength(64);
    expect(await repositories.resolve({ url }, { signal })).toMatchObject({ commit });
  });
});

describe("a mirror", () => {
  test("fetches only what is missing, and nothing if nothing has changed", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { big: randomBytes(400_000).toString("hex") });
    let sent = 0;
    server.sent = (bytes) => {
      sent = Math.max(sent, bytes);
    };
    const { mirror } = await repositories.resolve({ url }, { signal });
    expect(sent).toBeGreaterThan(300_000);

    sent = 0;
    await repositories.resolve({ url }, { signal });
    expect(sent).toBeLessThan(5_000);
    const commit = origin.push("main", { small: "one line" });
    const later = await repositories.resolve({ url }, { signal });
    expect(later).toMatchObject({ commit, mirror });
    expect(sent).toBeLessThan(20_000);
  });

  test("follows a branch that moves, is force-pushed, becomes a folder or is deleted", async () => {
    const { origin, url } = makeOrigin();
    const first = origin.push("main", { a: "1" });
    const moved = origin.push("main", { a: "2" });
    const topic = origin.push("topic", { a: "3" });
    const { mirror } = await repositories.resolve({ url, ref: "topic" }, { signal });

    origin.run("reset", "--quiet", "--hard", first);
    const forced = origin.push("main", { a: "other" });
    origin.run("push", "--quiet", "origin", ":refs/heads/topic");
    origin.run("push", "--quiet", "origin", `${first}:refs/heads/topic/one`);
    expect(await repositories.resolve({ url }, { signal })).toMatchObject({ commit: forced });
    expect(await repositories.resolve({ url, ref: "topic/one" }, { signal })).toMatchObject({
      commit: first,
    });
    await expect(repositories.resolve({ url, ref: "topic" }, { signal })).rejects.toThrow(
      /no branch.*topic\/one/,
    );
    expect(git(mirror, "for-each-ref", "--format=%(refname)", "refs/heads").split("\n")).toEqual([
      "refs/heads/main",
      "refs/heads/topic/one",
    ]);
    // A resolved commit stays even if no branch contains it, because a build may need it.
    expect(await repositories.resolve({ url, ref: topic }, { signal })).toMatchObject({ commit: topic });
    expect(moved).not.toBe(forced);
  });

  test("follows a change of the default branch", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { a: "1" });
    const commit = origin.push("trunk", { a: "2" });
    await repositories.resolve({ url }, { signal });
    git(origin.bare, "symbolic-ref", "HEAD", "refs/heads/trunk");
    const resolved = await repositories.resolve({ url }, { signal });
    expect(resolved).toMatchObject({ commit, ref: "refs/heads/trunk" });
    expect(git(resolved.mirror, "symbolic-ref", "HEAD")).toBe("refs/heads/trunk");
  });

  test("is fetched once for concurrent callers, even from several workers", async () => {
    const { origin, url } = makeOrigin();
    const commit = origin.push("main", { big: randomBytes(100_000).toString("hex") });
    const workers = [repositories, open(), open()];
    const progress: string[] = [];
    const waiting = "Waiting for another fetch of this repository.";
    // On a busy machine, the fetch could otherwise end before another caller needs it.
    server.sent = (bytes) => (bytes > 50_000 ? until(() => progress.includes(waiting)) : undefined);
    const all = await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        (workers[index % 3] as Repositories).resolve(
          { url },
          { signal, onProgress: (text) => progress.push(text) },
        ),
      ),
    );
    expect(new Set(all.map((resolved) => resolved.commit))).toEqual(new Set([commit]));
    // Each caller lists the refs, which is a POST too. The one fetch lists them again.
    expect(posts()).toBe(9 + 2);
    expect(progress).toContain(waiting);
    expect(progress.join("\n")).toMatch(/Receiving objects: +100%/);
  });

  test("is fetched again if it is damaged", async () => {
    const { origin, url } = makeOrigin();
    const commit = origin.push("main", { a: "1" });
    const { mirror } = await repositories.resolve({ url }, { signal });
    for (const damage of [
      (pack: string) => truncateSync(pack, 40),
      (pack: string) => rmSync(pack),
      () => writeFileSync(join(mirror, "HEAD"), ""),
      () => writeFileSync(join(mirror, "refs/heads/main"), "nonsense\n"),
    ]) {
      const packs = readdirSync(join(mirror, "objects/pack")).filter((name) => name.endsWith(".pack"));
      const pack = join(mirror, "objects/pack", packs[0] as string);
      chmodSync(pack, 0o644);
      damage(pack);
      expect(await repositories.resolve({ url }, { signal })).toMatchObject({ commit, mirror });
      expect(git(mirror, "fsck", "--full")).toBe("");
    }
  });

  test.each([
    ["a damaged object", (object: string) => writeFileSync(object, "not zlib")],
    ["a missing object", (object: string) => rmSync(object)],
  ])("is not made from a remote with %s, and the error names the remote", async (_, damage) => {
    const { origin, url } = makeOrigin();
    origin.push("main", { a: "1" });
    const tree = origin.run("rev-parse", "HEAD^{tree}");
    const object = join(origin.bare, "objects", tree.slice(0, 2), tree.slice(2));
    chmodSync(object, 0o644);
    damage(object);
    const error = await repositories.resolve({ url }, { signal }).catch((reason) => reason);
    expect(error.message).toContain(
      `The repository ${url} is corrupt, or its server sent invalid data. git reported: `,
    );
    expect(error.message).toMatch(/(?:fatal|error): /);
    expect(error.message).not.toMatch(/\d%|Enumerating|Counting/);
    expect(error.remedy).toContain("git fsck --full");
  });

  test("contains the commit of a detached HEAD", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { a: "1" });
    const commit = origin.push("gone", { a: "2" });
    git(origin.bare, "update-ref", "--no-deref", "HEAD", commit);
    origin.run("push", "--quiet", "origin", ":refs/heads/gone");
    expect(await repositories.resolve({ url }, { signal })).toMatchObject({ commit });
  });

  test("is repacked after many fetches", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { a: "0" });
    let mirror = "";
    for (let round = 1; round <= 25; round++) {
      const commit = origin.push("main", { a: String(round) });
      const resolved = await repositories.resolve({ url }, { signal });
      expect(resolved.commit).toBe(commit);
      mirror = resolved.mirror;
    }
    const packs = readdirSync(join(mirror, "objects/pack")).filter((name) => name.endsWith(".pack"));
    expect(packs.length).toBeLessThanOrEqual(20);
    expect(git(mirror, "fsck", "--full", "--strict")).toBe("");
  });
});

describe("a fetch", () => {
  test("leaves no process and a working mirror if it is aborted", async () => {
    const { origin, url } = makeOrigin();
    const commit = origin.push("main", { big: randomBytes(2_000_000).toString("hex") });
    const stop = new AbortController();
    const halfway = Promise.withResolvers<void>();
    server.sent = (bytes) => {
      if (bytes < 100_000) return;
      stop.abort(new Error("enough"));
      return halfway.promise;
    };
    await expect(repositories.resolve({ url }, { signal: stop.signal })).rejects.toThrow("enough");
    expect(processesWith(cache.folder)).toEqual([]);
    server.sent = () => {};
    halfway.resolve();
    expect(await repositories.resolve({ url }, { signal })).toMatchObject({ commit });
  });

  test("fails if it takes too long or exceeds the size limit", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { big: randomBytes(2_000_000).toString("hex") });
    const held = Promise.withResolvers<void>();
    server.sent = (bytes) => (bytes > 500_000 ? held.promise : undefined);
    await expect(open({ limits: { fetchMs: 1_000 } }).resolve({ url }, { signal })).rejects.toMatchObject({
      code: "repository_unreachable",
      message: expect.stringContaining("timed out"),
    });
    await expect(open({ limits: { maxBytes: 100_000 } }).resolve({ url }, { signal })).rejects.toMatchObject({
      code: "environment_setup_failed",
      message: expect.stringContaining("exceeds this worker's size limit"),
    });
    held.resolve();
  });

  test("distinguishes a missing, an empty and an unreachable repository", async () => {
    const { url } = makeOrigin();
    const missing = `http://${server.host}/nothing.git`;
    const closed = "http://127.0.0.1:9";
    const other = open({ insecureHosts: [server.host, "127.0.0.1:9"] });
    const resolve = (target: string) => other.resolve({ url: target }, { signal });
    await expect(resolve(url)).rejects.toMatchObject({ message: `The repository ${url} is empty.` });
    await expect(resolve(missing)).rejects.toMatchObject({
      code: "environment_setup_failed",
      message: expect.stringContaining("does not exist"),
    });
    await expect(resolve(`${closed}/x.git`)).rejects.toMatchObject({
      code: "repository_unreachable",
      message: expect.stringContaining("could not be reached"),
    });
  });
});

describe("a worker that is killed during a fetch", () => {
  const module = new URL("../../src/repositories/repositories.ts", import.meta.url).href;
  const program = `const { openRepositories } = await import(${JSON.stringify(module)});
    const { url, ...options } = JSON.parse(process.argv[1]);
    const { signal } = new AbortController();
    await openRepositories({ ...options, allowedPaths: [], log: console }).resolve({ url }, { signal });`;

  /** Kills a worker while it waits for the second half of a repository. */
  async function killHalfway() {
    const { origin, url } = makeOrigin();
    const commit = origin.push("main", { big: randomBytes(2_000_000).toString("hex") });
    const options = JSON.stringify({ url, folder: cache.folder, insecureHosts: [server.host] });
    const halfway = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    server.sent = (bytes) => {
      if (bytes < 1_000_000) return;
      halfway.resolve();
      return held.promise;
    };
    const worker = spawn(process.execPath, ["--input-type=module", "--eval", program, options], {
      stdio: "ignore",
    });
    await halfway.promise;
    await until(() => leftovers().length > 0);
    // Waits until git stops writing: a write to the dead worker would end git.
    await until(isIdle);
    worker.kill("SIGKILL");
    await once(worker, "exit");
    const release = () => {
      server.sent = () => {};
      held.resolve();
    };
    return { url, commit, release };
  }

  const packs = () => readdirSync(cache.folder, { recursive: true, encoding: "utf8" });
  const leftovers = () => packs().filter((path) => path.includes("tmp_pack"));
  const size = () => leftovers().map((path) => statSync(join(cache.folder, path)).size);
  const isIdle = async () => {
    const before = size();
    await delay(500);
    return isDeepStrictEqual(size(), before);
  };

  test("keeps the lock while its git lives", async () => {
    const { url, commit, release } = await killHalfway();
    const progress: string[] = [];
    const next = repositories.resolve({ url }, { signal, onProgress: (text) => progress.push(text) });
    await until(() => progress.includes("Waiting for another fetch of this repository."));
    release();
    expect(await next).toMatchObject({ commit });
  });

  test("leaves nothing that blocks the next worker if its git is killed too", async () => {
    const { url, commit, release } = await killHalfway();
    for (const pid of processesWith(cache.folder)) process.kill(pid, "SIGKILL");
    await until(() => processesWith(cache.folder).length === 0);
    release();
    const mirrors = join(cache.folder, "mirrors");
    const [name = ""] = readdirSync(mirrors);
    for (const lock of ["packed-refs.lock", "HEAD.lock", "refs/heads/main.lock"]) {
      mkdirSync(dirname(join(mirrors, name, lock)), { recursive: true });
      writeFileSync(join(mirrors, name, lock), "");
    }
    expect(leftovers().length).toBeGreaterThan(0);
    const resolved = await repositories.resolve({ url }, { signal });
    expect(resolved).toMatchObject({ commit });
    expect(leftovers()).toEqual([]);
    expect(git(resolved.mirror, "fsck", "--full")).toBe("");
  });
});

describe("a resolved tree", () => {
  test("names submodules and says whether the commit uses Git LFS", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { a: "1" });
    const id = "1".repeat(40);
    origin.run("update-index", "--add", "--cacheinfo", `160000,${id},parts/inner`);
    origin.run("commit", "--quiet", "--message", "x");
    origin.run("push", "--quiet", "origin", "HEAD:refs/heads/main");
    const resolve = async () => (await repositories.resolve({ url }, { signal })).tree;
    expect(await resolve()).toMatchObject({ submodules: [{ path: "parts/inner", id }], usesLfs: false });
    origin.push("main", { "media/.gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n" });
    expect(await resolve()).toMatchObject({ submodules: [], usesLfs: true, isComplete: true });
  });
});

describe("a path on this disk", () => {
  test("is rejected unless its real path is below an allowed folder", async () => {
    const { origin } = makeOrigin();
    const commit = origin.push("main", { a: "1" });
    const elsewhere = makeFolder();
    symlinkSync(origin.bare, join(elsewhere.folder, "link.git"));
    // Repositories usually belong to another user than the worker.
    if (isRoot) execFileSync("chown", ["-R", "21499:21499", origin.bare, origin.copy]);
    const allowed = open({ allowedPaths: [origins.folder] });
    for (const url of [origin.bare, `file://${origin.bare}`, origin.copy]) {
      expect(await allowed.resolve({ url }, { signal })).toMatchObject({ commit });
    }
    const linked = join(elsewhere.folder, "link.git");
    for (const [worker, url] of [
      [open(), origin.bare],
      [open({ allowedPaths: [elsewhere.folder] }), linked],
      [open({ allowedPaths: [elsewhere.folder] }), `${elsewhere.folder}/../${origin.bare}`],
      [open({ allowedPaths: [origins.folder.slice(0, -1)] }), origin.bare],
      [allowed, "file://host/x"],
      [allowed, "/nothing/here"],
    ] as const) {
      await expect(worker.resolve({ url }, { signal })).rejects.toMatchObject({
        code: "environment_setup_failed",
        message: expect.stringContaining("is not allowed to read"),
        remedy: expect.stringContaining("allow one of its parent folders"),
      });
    }
    elsewhere.remove();
  });
});

describe("pruning", () => {
  test("removes the least recently used mirrors, except those to keep", async () => {
    const mirrors: string[] = [];
    for (let index = 0; index < 3; index++) {
      const { origin, url } = makeOrigin();
      origin.push("main", { big: randomBytes(50_000).toString("hex") });
      const { mirror } = await repositories.resolve({ url }, { signal });
      mirrors.push(mirror);
      const used = new Date(Date.UTC(2024, 0, 1 + index));
      utimesSync(mirror.replace("/mirrors/", "/locks/").replace(/\.git$/, ""), used, used);
    }
    const [oldest = "", middle = "", newest = ""] = mirrors;
    expect(await repositories.prune({ keep: [], maxBytes: 1_000_000 })).toEqual([]);
    expect(await repositories.prune({ keep: [oldest], maxBytes: 150_000 })).toEqual([middle]);
    expect(await repositories.prune({ keep: [oldest], maxBytes: 0 })).toEqual([newest]);
    expect(
      readdirSync(join(cache.folder, "mirrors")).map((name) => join(cache.folder, "mirrors", name)),
    ).toEqual([oldest]);
    expect(readdirSync(join(cache.folder, "scratch"))).toEqual([]);
  });

  test("removes old resolved commits that no branch contains", async () => {
    const { origin, url } = makeOrigin();
    const first = origin.push("main", { a: "1" });
    const lost = origin.push("main", { a: "2" });
    const { mirror } = await repositories.resolve({ url }, { signal });
    origin.run("reset", "--quiet", "--hard", first);
    const forced = origin.push("main", { a: "3" });
    await repositories.resolve({ url }, { signal });
    await repositories.prune({ keep: [], maxBytes: 1e9 });
    expect(git(mirror, "cat-file", "-t", lost)).toBe("commit");
    await open({ limits: { keepDays: -1 } }).prune({ keep: [mirror], maxBytes: 1e9 });
    expect(git(mirror, "cat-file", "-t", lost)).toBe("commit");
    await open({ limits: { keepDays: -1 } }).prune({ keep: [], maxBytes: 1e9 });
    expect(() => git(mirror, "cat-file", "-t", lost)).toThrow();
    expect(git(mirror, "cat-file", "-t", forced)).toBe("commit");
    expect(await repositories.resolve({ url }, { signal })).toMatchObject({ commit: forced, mirror });
  });
});
