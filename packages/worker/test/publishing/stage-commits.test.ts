import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openRepositories } from "../../src/repositories/repositories.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { checkOut, type Repos } from "../repositories/checkout-support.ts";
import { git, makeFolder, Origin } from "../repositories/git-server.ts";
import { makeRoot, silent } from "../sandboxes/sandbox-support.ts";
import { BlobStore, saveBundle, stage } from "./staging-support.ts";

/** Commits of real sandboxes, some of them hostile, are checked on the host and stored. */

const { root, remove } = makeRoot();
const origins = makeFolder();
const cache = makeFolder();
let provider: SandboxProvider;
let repositories: Repositories;
let count = 0;

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
  const folder = join(cache.folder, "cache");
  repositories = openRepositories({ folder, allowedPaths: [origins.folder], log: silent });
});
afterAll(async () => {
  // Every outbox is removed, also after an error.
  expect(readdirSync(join(cache.folder, "cache/scratch"))).toEqual([]);
  await provider?.stop();
  await remove();
  origins.remove();
  cache.remove();
});

function makeOrigin(files: Record<string, string> = { "README.md": "first\n", "src/a.ts": "a\n" }) {
  const origin = new Origin(origins.folder, `origin-${++count}`);
  git(origin.bare, "config", "uploadpack.allowFilter", "true");
  const commit = origin.push("main", files);
  const repos = (repo: object = {}): Repos => ({ repos: [{ url: origin.bare, path: "app", ...repo }] });
  return { origin, commit, repos };
}

async function open({ origin, commit, repos } = makeOrigin(), repo = {}) {
  const environment = repos(repo);
  const checkout = await checkOut({ repositories, provider }, environment);
  const store = new BlobStore();
  const fixture = { repositories, folder: cache.folder };
  return {
    ...{ origin, commit, store },
    bash: (command: string) => checkout.bash(`cd app && ${command}`),
    stage: (settings: Omit<Parameters<typeof stage>[2], "repos"> = {}) =>
      stage(fixture, checkout, { repos: environment, store, ...settings }),
    /** Fetches a bundle into the origin's working copy, as a user would. */
    fetch(sha256 = "") {
      origin.run("fetch", "--quiet", saveBundle(cache.folder, store, sha256), "refs/outrider/staged");
      return origin.run("rev-parse", "FETCH_HEAD");
    },
  };
}

const commitAll = "git add -A && git commit -qm";

describe("staging", () => {
  test("stores commits and uncommitted changes, and changes nothing of the agent's", async () => {
    const run = await open();
    expect(await run.stage()).toBeUndefined();
    await run.bash(
      `echo b > src/b.ts && ${commitAll} 'Add b' && echo more >> README.md && git rm -q src/a.ts`,
    );
    await run.bash("echo x > staged && git add staged && echo y > 'not staged'");
    const state = "git rev-parse HEAD && git status --porcelain && git branch -a && sha256sum .git/index";
    const before = await run.bash(state);
    const staged = await run.stage({ message: "Change things" });
    expect(await run.bash(state)).toBe(before);
    expect(staged).toMatchObject({
      ...{ path: "app", base_commit: run.commit, commits: 2, secrets: [], problems: [] },
      files: [
        { path: "README.md", status: "modified" },
        { path: "not staged", status: "added" },
        { path: "src/a.ts", status: "deleted" },
        { path: "src/b.ts", status: "added" },
        { path: "staged", status: "added" },
      ],
    });
    const tip = staged?.tip ?? "";
    expect(run.fetch(staged?.bundle?.sha256)).toBe(tip);
    expect(run.origin.run("log", "--format=%an %s", "-2", tip)).toBe(
      `Ada Change things\n${await run.bash("git log -1 --format='%an %s' HEAD")}`,
    );
    expect(run.origin.run("diff", run.commit, tip).length).toBeLessThan(staged?.diff_bytes ?? 0);
    // The same changes are the same commit.
    expect((await run.stage())?.tip).toBe(tip);
    expect(await run.stage({ policy: { published: { tip, commit: tip } } })).toBeUndefined();
  });

  test("ignores uncommitted changes if the policy says so", async () => {
    const run = await open();
    await run.bash("echo b > b");
    expect(await run.stage({ policy: { commit_uncommitted: false } })).toBeUndefined();
    await run.bash(`${commitAll} 'Add b' && echo c > c`);
    const staged = await run.stage({ policy: { commit_uncommitted: false } });
    expect(staged).toMatchObject({ tip: await run.bash("git rev-parse HEAD"), files: [{ path: "b" }] });
  });

  test("lets the branch only grow, turn after turn", async () => {
    const run = await open();
    const tips: string[] = [];
    for (const turn of [1, 2, 3]) {
      await run.bash(`echo ${turn} > file`);
      const tip = tips.at(-1);
      const staged = await run.stage(tip ? { policy: { published: { tip, commit: tip } } } : {});
      expect(staged).toMatchObject({ commits: turn, files: [{ path: "file", status: "added" }] });
      tips.push(staged?.tip ?? "");
    }
    expect(await run.bash(`git rev-list --reverse HEAD..${tips[2]}`)).toBe(tips.join("\n"));
    // The agent commits itself: this history replaces the earlier one.
    await run.bash(`${commitAll} mine`);
    const published = { tip: tips[2] ?? "", commit: tips[2] ?? "" };
    expect(await run.stage({ policy: { published } })).toMatchObject({
      ...{ commits: 1, tip: await run.bash("git rev-parse HEAD") },
    });
  });

  test("takes another branch as a start, but not an unrelated history", async () => {
    const origin = makeOrigin();
    origin.origin.push("side", { "side.ts": "s\n" });
    const run = await open(origin);
    await run.bash("git checkout -q origin/side && echo b > b");
    expect((await run.stage())?.files).toEqual([
      { path: "b", status: "added" },
      { path: "side.ts", status: "added" },
    ]);
    await run.bash("git checkout -q --orphan alone && git commit -qm alone");
    await expect(run.stage()).rejects.toMatchObject({
      code: "unrelated_history",
      message: expect.stringContaining("share no history"),
    });
  });

  test("says what is wrong with the repository", async () => {
    const run = await open();
    await run.bash(
      "git checkout -qb other && echo 1 > f && git add f && git commit -qm 1 && git checkout -q main",
    );
    await run.bash("echo 2 > f && git add f && git commit -qm 2 && git merge other || true");
    await expect(run.stage()).rejects.toMatchObject({ code: "unfinished_merge" });
    await run.bash("git merge --abort && git checkout -q --orphan empty && git rm -rfq .");
    await expect(run.stage()).rejects.toMatchObject({ code: "no_repository" });
    await run.bash("rm -rf .git");
    await expect(run.stage()).rejects.toMatchObject({
      code: "no_repository",
      message: expect.stringContaining("/workspace/app is no longer a git repository"),
    });
    await run.bash("cd .. && rm -rf app");
    await expect(run.stage()).rejects.toMatchObject({ code: "no_repository" });
  });

  test("works with sparse checkouts of partial mirrors", async () => {
    const large = randomBytes(200_000).toString("hex");
    const origin = makeOrigin({
      ...{ "packages/api/a": "a\n", "packages/other/b": large, "media/c": large, README: "x\n" },
    });
    const run = await open(origin, { sparse_paths: ["packages/api"] });
    await run.bash(`echo 2 > packages/api/a && ${commitAll} api && mkdir media && echo d > media/d`);
    const staged = await run.stage();
    expect(staged?.files).toEqual([
      { path: "media/d", status: "added" },
      { path: "packages/api/a", status: "modified" },
    ]);
    run.fetch(staged?.bundle?.sha256);
    const files = run.origin.run("ls-tree", "-r", "--name-only", staged?.tip ?? "");
    expect(files.split("\n")).toEqual(["README", "media/c", "media/d", "packages/api/a", "packages/other/b"]);
  });

  test("leaves the pointers of submodules and embedded repositories out of uncommitted changes", async () => {
    const sub = makeOrigin({ lib: "1\n" });
    const origin = makeOrigin();
    const { run } = { run: (...args: string[]) => origin.origin.run(...args) };
    run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.origin.bare, "sub");
    origin.origin.push("main", {});
    const checkout = await open(origin);
    await checkout.bash("cd sub && echo 2 > lib && git commit -qam moved");
    await checkout.bash("git init -q nested && cd nested && git commit -qm x --allow-empty");
    await checkout.bash("echo new > new");
    expect((await checkout.stage())?.files).toEqual([{ path: "new", status: "added" }]);
    // A pointer that the agent commits itself is reported.
    await checkout.bash("git add sub && git commit -qm pointer");
    expect((await checkout.stage())?.files).toContainEqual({
      ...{ path: "sub", status: "modified", kind: "submodule" },
    });
  });
});

describe("a hostile repository", () => {
  test("cannot run hooks, and its aliases, replacement objects and grafts have no effect", async () => {
    const run = await open();
    await run.bash(
      `echo good > file && ${commitAll} good && printf '#!/bin/sh\\ntouch /workspace/ran\\n' > .git/evil && chmod +x .git/evil`,
    );
    const head = await run.bash("git rev-parse HEAD");
    await run.bash(
      "evil=$(git commit-tree -m evil 4b825dc642cb6eb9a060e54bf8d69288fbee4904) && git update-ref refs/replace/$(git rev-parse HEAD) $evil && mkdir -p .git/info && GIT_NO_REPLACE_OBJECTS=1 git rev-parse HEAD > .git/info/grafts",
    );
    await run.bash(
      "mkdir -p .git/hooks; for h in post-index-change reference-transaction; do cp .git/evil .git/hooks/$h; done; git config core.fsmonitor /workspace/app/.git/evil; for a in add commit-tree pack-objects; do git config alias.$a '!touch /workspace/ran'; done",
    );
    await run.bash("rm -f /workspace/ran");
    const staged = await run.stage();
    expect(staged).toMatchObject({ tip: head, commits: 1, files: [{ path: "file", status: "added" }] });
    expect(await run.bash("ls /workspace")).toBe("app");
  });

  test("may have its .git anywhere in the sandbox, but nothing of the host", async () => {
    const run = await open();
    await run.bash(`echo 1 > one && ${commitAll} one && mv .git ~/elsewhere && ln -s ~/elsewhere .git`);
    expect(await run.stage()).toMatchObject({ commits: 1 });
    await run.bash("rm .git && echo gitdir: ~/elsewhere > .git && echo 2 > two");
    expect(await run.stage()).toMatchObject({ commits: 2 });
    await run.bash(`rm .git; ln -s ${origins.folder} .git`);
    await expect(run.stage()).rejects.toMatchObject({ code: "no_repository" });
  });

  test("cannot send more than the limits allow", async () => {
    const run = await open();
    await run.bash(
      `head -c 3000000 /dev/urandom > big && ${commitAll} big && git rm -q big && git commit -qm removed`,
    );
    await expect(run.stage({ limits: { packBytes: 2 ** 20 } })).rejects.toMatchObject({
      code: "too_large",
      message:
        "The new commits have more than 1 MiB. Remove large files from all of them, not only from the last one.",
    });
    await expect(run.stage({ limits: { totalBytes: 2 ** 20 } })).rejects.toMatchObject({ code: "too_large" });
    await expect(run.stage({ limits: { commits: 1 } })).rejects.toMatchObject({ code: "too_large" });
    await expect(run.stage({ limits: { objects: 3 } })).rejects.toMatchObject({ code: "too_large" });
    const staged = await run.stage({ limits: { objectBytes: 2 ** 20 } });
    expect(staged?.problems).toEqual([expect.stringContaining("A new file has 3 MiB")]);
    expect(staged?.bundle).toBeUndefined();
    expect(run.store.blobs.size).toBe(0);
  });

  test("is reported with links that leave it, and with Git LFS files", async () => {
    const run = await open();
    await run.bash("ln -s ../../etc/passwd out && ln -s src/a.ts in && ln -s /etc/passwd absolute");
    await run.bash("mkdir d && ln -s ../src d/up && ln -s .git/config config");
    const staged = await run.stage();
    expect(staged?.files.every(({ kind }) => kind === "symlink")).toBe(true);
    expect(staged?.problems).toEqual([
      "The symbolic link `absolute` points outside of the repository. Remove it.",
      "The symbolic link `config` points outside of the repository. Remove it.",
      "The symbolic link `out` points outside of the repository. Remove it.",
    ]);
    const pointer = `version https://git-lfs.github.com/spec/v1\\noid sha256:${"a".repeat(64)}\\nsize 5\\n`;
    await run.bash(`git clean -qfd && printf '${pointer}' > film`);
    expect((await run.stage())?.problems).toEqual([expect.stringContaining("`film` is a Git LFS file")]);
  });

  test("cannot send invalid objects or lack some", async () => {
    const run = await open();
    const policy = { commit_uncommitted: false };
    // A folder named .git in a commit would write into the repository of everyone who checks it out.
    await run.bash(
      `blob=$(echo evil | git hash-object -w --stdin) && tree=$(printf "100644 blob $blob\\tconfig\\n" | git mktree) && root=$(printf "040000 tree $tree\\t.git\\n" | git mktree) && git update-ref HEAD $(git commit-tree -p HEAD -m evil $root)`,
    );
    await expect(run.stage({ policy })).rejects.toMatchObject({
      code: "invalid_commits",
      message: expect.stringMatching(/hasDotgit|contains '.git'/),
    });
    await run.bash(
      `git update-ref HEAD $(printf 'tree %040d\\nparent ${run.commit}\\nauthor A <a@b> 1 +0000\\ncommitter A <a@b> 1 +0000\\n\\nx\\n' 7 | git hash-object -t commit -w --stdin --literally)`,
    );
    await expect(run.stage({ policy })).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:staging_failed|invalid_commits)$/),
    });
  });
});
