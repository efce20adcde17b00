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
import {
  openRepositories,
  type Repositories,
  type RepositoriesOptions,
} from "../src/repositories/repositories.ts";
import { git, type HttpServer, makeFolder, Origin, serveHttp } from "./git-server.ts";
import { isRoot, processesWith, silent, until } from "./sandbox-support.ts";

/** Repositories as they move on: what is fetched, what stays, what is said when something is not there. */

let server: HttpServer;
let origins: ReturnType<typeof makeFolder>;
let own: ReturnType<typeof makeFolder>;
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
  own = makeFolder();
  repositories = open();
  server.requests.length = 0;
});
afterEach(() => {
  server.sent = () => {};
  own.remove();
});

const signal = new AbortController().signal;

function open(options: Partial<RepositoriesOptions> = {}): Repositories {
  const { folder } = own;
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

describe("a commit that is known", () => {
  test("is found again without asking anybody, also when its branch is gone", async () => {
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

  test("is not found in another's mirror, nor where there is none of it", async () => {
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
  test("may be a branch, a tag, a commit or the beginning of one, and is the default branch without one", async () => {
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
    const whole = await resolve(second);
    expect(whole).toMatchObject({ commit: second });
    expect(whole).not.toHaveProperty("ref");
    expect(await resolve(second.slice(0, 9))).toMatchObject({ commit: second });
    expect(git(whole.mirror, "cat-file", "-t", second)).toBe("commit");
  });

  test("outside of branches and tags is found by its full name", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { a: "1" });
    const commit = origin.push("gone", { a: "proposed" });
    origin.run("push", "--quiet", "origin", `${commit}:refs/pull/7/head`, ":refs/heads/gone");
    const resolved = await repositories.resolve({ url, ref: "refs/pull/7/head" }, { signal });
    expect(resolved).toMatchObject({ commit, ref: "refs/pull/7/head" });
    expect(git(resolved.mirror, "cat-file", "-p", `${commit}:a`)).toBe("proposed");
  });

  test("that is a branch and a tag is the branch; names that look like options or commits are only names", async () => {
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

  test("that is unknown is named together with the nearest that exist", async () => {
    const { origin, url } = makeOrigin();
    for (const branch of ["main", "release/1.2", "other"]) origin.push(branch, { a: branch });
    await expect(repositories.resolve({ url, ref: "relase/1.2" }, { signal })).rejects.toMatchObject({
      name: "RepositoryError",
      code: "environment_setup_failed",
      message: `The repository ${url} has no branch, tag or commit "relase/1.2"; the nearest are "release/1.2".`,
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

  test("of a repository in the newer object format is found too", async () => {
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
  test("fetches only what is missing, and nothing when nothing has changed", async () => {
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

  test("follows a branch that moves, is forced elsewhere, becomes a folder of branches, or goes", async () => {
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
    // What was resolved once stays, though no branch leads there; a build may stand on it.
    expect(await repositories.resolve({ url, ref: topic }, { signal })).toMatchObject({ commit: topic });
    expect(moved).not.toBe(forced);
  });

  test("follows a default branch that changes", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { a: "1" });
    const commit = origin.push("trunk", { a: "2" });
    await repositories.resolve({ url }, { signal });
    git(origin.bare, "symbolic-ref", "HEAD", "refs/heads/trunk");
    const resolved = await repositories.resolve({ url }, { signal });
    expect(resolved).toMatchObject({ commit, ref: "refs/heads/trunk" });
    expect(git(resolved.mirror, "symbolic-ref", "HEAD")).toBe("refs/heads/trunk");
  });

  test("is fetched once for many who ask at the same time, from several workers too", async () => {
    const { origin, url } = makeOrigin();
    const commit = origin.push("main", { big: randomBytes(100_000).toString("hex") });
    const others = [repositories, open(), open()];
    const progress: string[] = [];
    const all = await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        (others[index % 3] as Repositories).resolve(
          { url },
          { signal, onProgress: (text) => progress.push(text) },
        ),
      ),
    );
    expect(new Set(all.map((each) => each.commit))).toEqual(new Set([commit]));
    // Each asks for the refs, which is a POST as well; the one fetch asks for them once more.
    expect(posts()).toBe(9 + 2);
    expect(progress).toContain("Waiting for another fetch of this repository.");
    expect(progress.join("\n")).toMatch(/Receiving objects: +100%/);
  });

  test("that the disk has damaged is fetched anew", async () => {
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

  test("of a repository whose HEAD is on no branch has that commit", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { a: "1" });
    const commit = origin.push("gone", { a: "2" });
    git(origin.bare, "update-ref", "--no-deref", "HEAD", commit);
    origin.run("push", "--quiet", "origin", ":refs/heads/gone");
    expect(await repositories.resolve({ url }, { signal })).toMatchObject({ commit });
  });

  test("stays in few packs, however often it is fetched", async () => {
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
  }, 120_000);
});

describe("a fetch", () => {
  test("that is aborted leaves no process and a mirror that works", async () => {
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
    expect(processesWith(own.folder)).toEqual([]);
    server.sent = () => {};
    halfway.resolve();
    expect(await repositories.resolve({ url }, { signal })).toMatchObject({ commit });
  });

  test("that takes too long or brings too much is ended, and says so", async () => {
    const { origin, url } = makeOrigin();
    origin.push("main", { big: randomBytes(2_000_000).toString("hex") });
    const held = Promise.withResolvers<void>();
    server.sent = (bytes) => (bytes > 500_000 ? held.promise : undefined);
    await expect(open({ limits: { fetchMs: 1_000 } }).resolve({ url }, { signal })).rejects.toMatchObject({
      code: "environment_setup_failed",
      message: expect.stringContaining("in time"),
    });
    await expect(open({ limits: { maxBytes: 100_000 } }).resolve({ url }, { signal })).rejects.toMatchObject({
      code: "environment_setup_failed",
      message: expect.stringContaining("larger than"),
    });
    held.resolve();
  });

  test("of what is not there, is empty or cannot be reached says which", async () => {
    const { url } = makeOrigin();
    const missing = `http://${server.host}/nothing.git`;
    const closed = "http://127.0.0.1:9";
    const other = open({ insecureHosts: [server.host, "127.0.0.1:9"] });
    const of = (each: string) => other.resolve({ url: each }, { signal });
    await expect(of(url)).rejects.toMatchObject({ message: `The repository ${url} is empty.` });
    await expect(of(missing)).rejects.toMatchObject({ message: expect.stringContaining("no repository at") });
    await expect(of(`${closed}/x.git`)).rejects.toMatchObject({
      message: expect.stringContaining("cannot be reached"),
    });
  });
});

describe("a worker that is killed in the middle of a fetch", () => {
  const module = new URL("../src/repositories/repositories.ts", import.meta.url).href;
  const program = `const { openRepositories } = await import(${JSON.stringify(module)});
    const { url, ...options } = JSON.parse(process.argv[1]);
    const { signal } = new AbortController();
    await openRepositories({ ...options, allowedPaths: [], log: console }).resolve({ url }, { signal });`;

  /** Kills a worker that waits for the second half of a repository. */
  async function killHalfway() {
    const { origin, url } = makeOrigin();
    const commit = origin.push("main", { big: randomBytes(2_000_000).toString("hex") });
    const options = JSON.stringify({ url, folder: own.folder, insecureHosts: [server.host] });
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
    // Until git has nothing more to say: what it told a worker that is gone would end it.
    await until(isStill);
    worker.kill("SIGKILL");
    await once(worker, "exit");
    const release = () => {
      server.sent = () => {};
      held.resolve();
    };
    return { url, commit, release };
  }

  const packs = () => readdirSync(own.folder, { recursive: true, encoding: "utf8" });
  const leftovers = () => packs().filter((path) => path.includes("tmp_pack"));
  const size = () => leftovers().map((path) => statSync(join(own.folder, path)).size);
  const isStill = async () => {
    const before = size();
    await delay(500);
    return isDeepStrictEqual(size(), before);
  };

  test("keeps the lock while its git lives, so that no two are at work in a mirror", async () => {
    const { url, commit, release } = await killHalfway();
    const progress: string[] = [];
    const next = repositories.resolve({ url }, { signal, onProgress: (text) => progress.push(text) });
    await until(() => progress.includes("Waiting for another fetch of this repository."));
    release();
    expect(await next).toMatchObject({ commit });
  });

  test("together with its git leaves nothing that the next one would trip over", async () => {
    const { url, commit, release } = await killHalfway();
    for (const pid of processesWith(own.folder)) process.kill(pid, "SIGKILL");
    await until(() => processesWith(own.folder).length === 0);
    release();
    const mirrors = join(own.folder, "mirrors");
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

describe("notices", () => {
  test("name submodules and large files that a checkout will lack", async () => {
    const { origin, url } = makeOrigin();
    const inner = new Origin(origins.folder, `inner-${count}`);
    inner.push("main", { b: "2" });
    origin.push("main", { a: "1" });
    origin.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.bare, "parts/inner");
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 5\n`;
    origin.push("main", {
      "media/.gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
      "media/x.bin": pointer,
    });
    expect((await repositories.resolve({ url }, { signal })).notices).toEqual([
      `Submodules of ${url} are not checked out: parts/inner.`,
      `${url} keeps large files with Git LFS: they stay pointers in the checkout.`,
    ]);
  });
});

describe("a path on this disk", () => {
  test("is refused unless it lies below a folder that the operator allows, wherever its links lead", async () => {
    const { origin } = makeOrigin();
    const commit = origin.push("main", { a: "1" });
    const elsewhere = makeFolder();
    symlinkSync(origin.bare, join(elsewhere.folder, "link.git"));
    // As others' usually do, these belong to someone else.
    if (isRoot) execFileSync("chown", ["-R", "21499:21499", origin.bare, origin.copy]);
    const allowed = open({ allowedPaths: [origins.folder] });
    for (const url of [origin.bare, `file://${origin.bare}`, origin.copy]) {
      expect(await allowed.resolve({ url }, { signal })).toMatchObject({ commit });
    }
    const linked = join(elsewhere.folder, "link.git");
    for (const [who, url] of [
      [open(), origin.bare],
      [open({ allowedPaths: [elsewhere.folder] }), linked],
      [open({ allowedPaths: [elsewhere.folder] }), `${elsewhere.folder}/../${origin.bare}`],
      [open({ allowedPaths: [origins.folder.slice(0, -1)] }), origin.bare],
      [allowed, "file://host/x"],
      [allowed, "/nothing/here"],
    ] as const) {
      await expect(who.resolve({ url }, { signal })).rejects.toMatchObject({
        code: "environment_setup_failed",
        message: expect.stringContaining("may not read"),
        remedy: expect.stringContaining("allow a folder"),
      });
    }
    elsewhere.remove();
  });
});

describe("pruning", () => {
  test("removes what was not used for longest, and nothing that is to be kept", async () => {
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
    expect(readdirSync(join(own.folder, "mirrors")).map((name) => join(own.folder, "mirrors", name))).toEqual(
      [oldest],
    );
    expect(readdirSync(join(own.folder, "scratch"))).toEqual([]);
  });

  test("forgets commits that were resolved long ago and that no branch has", async () => {
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
