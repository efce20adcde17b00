import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkOutBundle, checkOutRemoteBranch } from "../src/local-git/checkout-branch.ts";
import { LocalGit } from "../src/local-git/git.ts";

/** Checks out commits of an agent in real clones. */

let folder: string;
let origin: string;
let clone: string;
let local: LocalGit;
const identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"];

function run(cwd: string, ...args: string[]): string {
  return execFileSync("git", [...identity, ...args], { cwd, encoding: "utf8", stdio: "pipe" }).trim();
}

function runWithInput(cwd: string, input: string, ...args: string[]): string {
  return execFileSync("git", [...identity, ...args], { cwd, input, encoding: "utf8" }).trim();
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "outrider-checkout-test-"));
  origin = join(folder, "origin");
  clone = join(folder, "clone");
  mkdirSync(origin);
  run(origin, "init", "--quiet", "--initial-branch=main");
  commit("start", { "a.txt": "start\n" });
  run(folder, "clone", "--quiet", origin, clone);
  local = new LocalGit(clone);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Commits files in the origin. */
function commit(message: string, files: Record<string, string>): string {
  for (const [path, text] of Object.entries(files)) writeFileSync(join(origin, path), text);
  run(origin, "add", "--all");
  run(origin, "commit", "--quiet", "--message", message);
  return run(origin, "rev-parse", "HEAD");
}

/** Returns a bundle of the commits of the origin that are not in `main`. */
function bundleOf(tip: string): Buffer {
  const file = join(folder, "bundle");
  run(origin, "update-ref", "--no-deref", "HEAD", tip);
  run(origin, "bundle", "create", "--quiet", file, "HEAD", "^main");
  return readFileSync(file);
}

function hostileBundle(tree: string): Buffer {
  const made = runWithInput(origin, tree, "mktree");
  const tip = run(origin, "commit-tree", made, "-p", "main", "-m", "hostile");
  return bundleOf(tip);
}

describe("a bundle", () => {
  test("becomes a branch, which later bundles move forward", async () => {
    run(origin, "checkout", "--quiet", "--detach");
    const first = commit("one", { "a.txt": "one\n" });
    const one = bundleOf(first);
    expect(await checkOutBundle({ git: local, branch: "outrider/x", bundle: one })).toEqual({
      branch: "outrider/x",
      commit: first,
    });
    expect(run(clone, "branch", "--show-current")).toBe("outrider/x");
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toBe("one\n");
    const second = commit("two", { "b.txt": "two\n" });
    const two = bundleOf(second);
    await checkOutBundle({ git: local, branch: "outrider/x", bundle: two });
    expect(run(clone, "rev-parse", "HEAD")).toBe(second);
    // An older bundle changes nothing.
    await checkOutBundle({ git: local, branch: "outrider/x", bundle: one });
    expect(run(clone, "rev-parse", "HEAD")).toBe(second);
    expect(run(clone, "for-each-ref", "refs/outrider")).toBe("");
  });

  test("does not replace commits or uncommitted changes of the user", async () => {
    run(origin, "checkout", "--quiet", "--detach");
    const bundle = bundleOf(commit("one", { "a.txt": "one\n" }));
    writeFileSync(join(clone, "a.txt"), "uncommitted\n");
    await expect(checkOutBundle({ git: local, branch: "x", bundle })).rejects.toThrow(/would be overwritten/);
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toBe("uncommitted\n");
    run(clone, "checkout", "--quiet", "-b", "mine");
    run(clone, "commit", "--quiet", "--all", "--message", "mine");
    const mine = run(clone, "rev-parse", "HEAD");
    await expect(checkOutBundle({ git: local, branch: "mine", bundle })).rejects.toMatchObject({
      code: "branch_diverged",
    });
    expect(run(clone, "rev-parse", "mine")).toBe(mine);
  });

  test("requires the commit from which the run started", async () => {
    commit("only in the origin", { "c.txt": "c\n" });
    run(origin, "checkout", "--quiet", "--detach");
    const bundle = bundleOf(commit("one", { "a.txt": "one\n" }));
    await expect(checkOutBundle({ git: local, branch: "x", bundle })).rejects.toThrow(/Run `git fetch`/);
  });

  test.each([
    ["a folder .git", (tree: string) => `040000 tree ${tree}\t.git\n`],
    ["a folder .GIT", (tree: string) => `040000 tree ${tree}\t.GIT\n`],
    ["a folder git~1", (tree: string) => `040000 tree ${tree}\tgit~1\n`],
    ["a parent folder", (tree: string) => `040000 tree ${tree}\t..\n`],
    ["a linked .gitmodules", (_: string, blob: string) => `120000 blob ${blob}\t.gitmodules\n`],
  ])("is refused with %s", async (_, entry) => {
    const blob = runWithInput(origin, "#!/bin/sh\n", "hash-object", "-w", "--stdin");
    const tree = runWithInput(origin, `100755 blob ${blob}\tpost-checkout\n`, "mktree");
    const bundle = hostileBundle(entry(tree, blob));
    await expect(checkOutBundle({ git: local, branch: "x", bundle })).rejects.toThrow(
      /^git index-pack failed/,
    );
    expect(run(clone, "branch", "--list", "x")).toBe("");
    expect(existsSync(join(clone, ".git/post-checkout"))).toBe(false);
  });

  test("with missing objects is refused", async () => {
    run(origin, "checkout", "--quiet", "--detach");
    const missing = bundleOf(commit("one", { "a.txt": "one\n" }));
    const broken = Buffer.from(missing);
    broken[broken.length - 30] = (broken.at(-30) as number) ^ 1;
    await expect(checkOutBundle({ git: local, branch: "x", bundle: broken })).rejects.toThrow(
      /^git index-pack/,
    );
    const text = missing.toString("latin1");
    const other = Buffer.from(text.replace(/^[0-9a-f]{40} HEAD/m, `${"1".repeat(40)} HEAD`), "latin1");
    await expect(checkOutBundle({ git: local, branch: "x", bundle: other })).rejects.toThrow(/^git rev-list/);
    expect(run(clone, "branch", "--list", "x")).toBe("");
  });

  test("that is none is refused", async () => {
    const bundle = Buffer.from("no bundle\x1b]0;title\x07");
    const error = await checkOutBundle({ git: local, branch: "x", bundle }).catch((caught) => caught);
    expect(error.message).toMatch(/not a git bundle/);
    expect(error.message).not.toContain("\x1b");
  });

  test("runs no hooks that it contains, and fetches no submodules", async () => {
    run(origin, "checkout", "--quiet", "--detach");
    mkdirSync(join(origin, ".husky"));
    const hook = join(origin, ".husky/post-checkout");
    writeFileSync(hook, `#!/bin/sh\ntouch ${folder}/ran\n`);
    chmodSync(hook, 0o755);
    const submodule = `[submodule "s"]\n\tpath = s\n\turl = file://${folder}/unwanted\n`;
    const bundle = bundleOf(commit("hooks", { ".gitmodules": submodule }));
    run(clone, "config", "core.hooksPath", ".husky");
    run(clone, "config", "submodule.recurse", "true");
    await checkOutBundle({ git: local, branch: "x", bundle });
    expect(existsSync(join(clone, ".husky/post-checkout"))).toBe(true);
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });

  test.each(["-x", "a b", "../x", "x..y", "@{-1}", "x@{1}", "refs/heads/x.lock", ""])(
    "gets no branch named %j",
    async (branch) => {
      run(origin, "checkout", "--quiet", "--detach");
      const bundle = bundleOf(commit("one", { "a.txt": "one\n" }));
      await expect(checkOutBundle({ git: local, branch, bundle })).rejects.toThrow(/not a valid name/);
    },
  );
});

describe("a branch of the remote", () => {
  const options = () => ({ git: local, remote: "origin", branch: "x", remoteBranch: "outrider/x" });

  test("is fetched, tracked and moved forward", async () => {
    run(origin, "checkout", "--quiet", "-b", "outrider/x");
    const first = commit("one", { "a.txt": "one\n" });
    expect(await checkOutRemoteBranch(options())).toEqual({ branch: "x", commit: first });
    expect(run(clone, "rev-parse", "--abbrev-ref", "x@{upstream}")).toBe("origin/outrider/x");
    const second = commit("two", { "a.txt": "two\n" });
    expect((await checkOutRemoteBranch(options())).commit).toBe(second);
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toBe("two\n");
  });

  test("that does not exist is reported", async () => {
    await expect(checkOutRemoteBranch(options())).rejects.toThrow(/find remote ref refs\/heads\/outrider\/x/);
  });
});
