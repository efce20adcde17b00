import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applyPatch } from "../src/local-git/apply-patch.ts";
import { LocalGit } from "../src/local-git/git.ts";
import { listPatchFiles, selectRepository } from "../src/local-git/patch-files.ts";
import { normalizeRemoteUrl } from "../src/local-git/remote-url.ts";

/** Applies patches to real checkouts. The patches come from an agent, so some of them are hostile. */

let folder: string;
let clone: string;
let local: LocalGit;
const identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
const git = (...args: string[]) =>
  execFileSync("git", [...identity, ...args], { cwd: clone, encoding: "utf8" });
const write = (path: string, text: string) => writeFileSync(join(clone, path), text);
const read = (path: string) => readFileSync(join(clone, path), "utf8");
const lines = (...changed: [number, string][]) =>
  Array.from({ length: 20 }, (_, index) => changed.find(([line]) => line === index)?.[1] ?? `line ${index}`)
    .join("\n")
    .concat("\n");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "outrider-apply-test-"));
  clone = join(folder, "clone");
  mkdirSync(clone);
  git("init", "--quiet", "--initial-branch=main");
  write("a.txt", lines());
  write("b.txt", "b\n");
  commit("start");
  local = new LocalGit(clone);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function commit(message: string) {
  git("add", "--all");
  git("commit", "--quiet", "--message", message);
}

/** Returns the patch of a change, which is then undone. */
function patchOf(change: () => void): Buffer {
  change();
  git("add", "--all");
  const patch = execFileSync("git", ["diff", "--cached", "--binary", "--full-index"], { cwd: clone });
  git("reset", "--quiet", "--hard");
  return patch;
}

function newFile(path: string, { mode = "100644", text = "hostile" } = {}): Buffer {
  return Buffer.from(
    `diff --git a/${path} b/${path}\nnew file mode ${mode}\nindex 0000000..1111111\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+${text}\n\\ No newline at end of file\n`,
  );
}

describe("applying a patch", () => {
  test("changes, creates, deletes and renames files, and stages them", async () => {
    const patch = patchOf(() => {
      write("a.txt", lines([3, "changed"]));
      rmSync(join(clone, "b.txt"));
      write("new file.bin", "\0\xff binary");
    });
    const checked = await applyPatch({ git: local, patch, isCheck: true });
    expect(checked).toEqual({ files: ["a.txt", "b.txt", "new file.bin"], conflicts: [] });
    expect(git("status", "--porcelain")).toBe("");
    expect(await applyPatch({ git: local, patch })).toEqual(checked);
    expect(git("diff", "--cached", "--name-status")).toBe("M\ta.txt\nD\tb.txt\nA\tnew file.bin\n");
    expect(git("status", "--porcelain")).not.toMatch(/^.[^ ]/m);
    commit("applied");
    expect(await applyPatch({ git: local, patch })).toEqual({ files: [], conflicts: [] });
  });

  test("merges with changes that were committed since", async () => {
    const patch = patchOf(() => write("a.txt", lines([3, "theirs"])));
    write("a.txt", lines([16, "ours"]));
    commit("ours");
    expect((await applyPatch({ git: local, patch })).conflicts).toEqual([]);
    expect(read("a.txt")).toBe(lines([3, "theirs"], [16, "ours"]));
  });

  test("leaves conflict markers and names the files", async () => {
    const patch = patchOf(() => {
      write("a.txt", lines([3, "theirs"]));
      write("b.txt", "changed\n");
    });
    write("a.txt", lines([3, "ours"]));
    commit("ours");
    const check = await applyPatch({ git: local, patch, isCheck: true });
    expect(check).toEqual({ files: ["a.txt", "b.txt"], conflicts: ["a.txt"] });
    expect(git("status", "--porcelain")).toBe("");
    expect(await applyPatch({ git: local, patch })).toEqual(check);
    expect(read("a.txt")).toMatch(/<{7} ours\nours\n={7}\ntheirs\n>{7} theirs\n/);
    expect(read("b.txt")).toBe("changed\n");
    expect(git("status", "--porcelain")).toBe("UU a.txt\nM  b.txt\n");
  });

  test("merges a file that was created on both sides", async () => {
    const patch = patchOf(() => write("c.txt", "theirs\n"));
    write("c.txt", "ours\n");
    commit("ours");
    expect(await applyPatch({ git: local, patch })).toEqual({ files: ["c.txt"], conflicts: ["c.txt"] });
    expect(read("c.txt")).toMatch(/<{7} ours\nours\n={7}\ntheirs\n>{7} theirs\n/);
  });

  test("refuses to change files with uncommitted changes", async () => {
    const patch = patchOf(() => {
      write("a.txt", lines([3, "theirs"]));
      write("c.txt", "theirs\n");
    });
    write("b.txt", "unrelated\n");
    const rejected = { code: "uncommitted_changes", exit: 1 };
    for (const change of [
      () => write("a.txt", lines([16, "ours"])),
      () => {
        write("a.txt", lines([16, "ours"]));
        git("add", "a.txt");
      },
      () => write("c.txt", "ours\n"),
    ]) {
      change();
      await expect(applyPatch({ git: local, patch })).rejects.toMatchObject(rejected);
      git("reset", "--quiet", "--hard");
      rmSync(join(clone, "c.txt"), { force: true });
    }
    write("b.txt", "unrelated\n");
    await applyPatch({ git: local, patch });
    expect(read("b.txt")).toBe("unrelated\n");
    expect(read("c.txt")).toBe("theirs\n");
  });

  test("says what to do if the checkout lacks the files of the patch", async () => {
    const patch = Buffer.from(
      newFile("a.txt").toString().replace("new file mode 100644\n", "").replace("/dev/null", "a/a.txt"),
    );
    await expect(applyPatch({ git: local, patch })).rejects.toMatchObject({
      code: "patch_does_not_apply",
      message: expect.stringContaining("git fetch"),
    });
    expect(git("status", "--porcelain")).toBe("");
  });

  test("applies to a repository without commits", async () => {
    clone = join(folder, "empty");
    mkdirSync(clone);
    git("init", "--quiet");
    expect(await applyPatch({ git: new LocalGit(clone), patch: newFile("x/y.txt") })).toEqual({
      files: ["x/y.txt"],
      conflicts: [],
    });
    expect(read("x/y.txt")).toBe("hostile");
  });

  test("applies the part of one of several repositories", async () => {
    const own = patchOf(() => write("a.txt", lines([3, "theirs"]))).toString("latin1");
    const inFolder = (path: string) => own.replaceAll(/([ab])\/a\.txt/g, `$1/${path}/a.txt`);
    const all = [inFolder("libs/api"), inFolder("libs/api/nested"), inFolder("web")].join("");
    const paths = ["libs/api", "libs/api/nested", "web"];
    const patch = selectRepository(Buffer.from(all, "latin1"), { path: "libs/api", paths });
    expect(Buffer.from(patch).toString()).toBe(inFolder("libs/api"));
    expect((await applyPatch({ git: local, patch, strip: 3 })).files).toEqual(["a.txt"]);
    expect(read("a.txt")).toBe(lines([3, "theirs"]));
  });
});

describe("a hostile patch", () => {
  test.each([
    ["../outside.txt"],
    ["x/../../outside.txt"],
    ["/outside.txt"],
    [".git/hooks/post-checkout"],
    [".git/config"],
    [".GIT/config"],
    ["sub/.git/config"],
  ])("cannot write %s", async (path) => {
    const before = readFileSync(join(clone, ".git/config"), "utf8");
    await applyPatch({ git: local, patch: newFile(path) }).catch(({ exit }) => expect(exit).toBe(1));
    expect(existsSync(join(folder, "outside.txt"))).toBe(false);
    expect(existsSync(join(clone, ".git/hooks/post-checkout"))).toBe(false);
    expect(existsSync(join(clone, "sub/.git"))).toBe(false);
    expect(readFileSync(join(clone, ".git/config"), "utf8")).toBe(before);
    expect(existsSync("/outside.txt")).toBe(false);
  });

  test("cannot write through a symbolic link that it creates or that exists", async () => {
    const target = join(folder, "target");
    mkdirSync(target);
    const link = newFile("link", { mode: "120000", text: target });
    const through = newFile("link/file.txt");
    const both = Buffer.concat([link, through]);
    await expect(applyPatch({ git: local, patch: both })).rejects.toMatchObject({ exit: 1 });
    expect(existsSync(join(clone, "link"))).toBe(false);
    symlinkSync(target, join(clone, "link"));
    await expect(applyPatch({ git: local, patch: through })).rejects.toMatchObject({ exit: 1 });
    commit("a link");
    await expect(applyPatch({ git: local, patch: through })).rejects.toMatchObject({ exit: 1 });
    expect(existsSync(join(target, "file.txt"))).toBe(false);
    expect(lstatSync(join(clone, "link")).isSymbolicLink()).toBe(true);
  });

  test("cannot make git run a hook of the checkout", async () => {
    const hooks = join(clone, ".husky");
    mkdirSync(hooks);
    for (const name of ["post-index-change", "post-checkout", "pre-applypatch", "applypatch-msg"]) {
      writeFileSync(join(hooks, name), `#!/bin/sh\ntouch ${folder}/ran\n`);
      chmodSync(join(hooks, name), 0o755);
    }
    commit("hooks");
    git("config", "core.hooksPath", ".husky");
    const patch = newFile("c.txt");
    await applyPatch({ git: local, patch });
    expect(existsSync(join(folder, "ran"))).toBe(false);
    git("reset", "--quiet", "--hard");
    expect(existsSync(join(folder, "ran"))).toBe(true); // The hook works.
  });

  test("cannot write escape sequences to the terminal through git's messages", async () => {
    const patch = newFile(".git/\x1b]0;title\x07");
    const error = await applyPatch({ git: local, patch }).catch((caught) => caught);
    expect(error.message).toContain("invalid path");
    expect(error.message).not.toContain("\x1b");
  });
});

test("lists the files of a patch with their changed lines", () => {
  const patch = patchOf(() => {
    write("a.txt", `--- x\n+++ y\n${lines([3, "changed"])}`);
    git("mv", "b.txt", 'c "quoted".txt');
    write("new\tfile.bin", "\0\xff binary");
    write("empty", "");
  }).toString();
  expect(listPatchFiles(patch)).toEqual([
    { path: "a.txt", added: 3, removed: 1, isBinary: false },
    { path: 'c "quoted".txt', added: 0, removed: 0, isBinary: false },
    { path: "empty", added: 0, removed: 0, isBinary: false },
    { path: "new\tfile.bin", added: 0, removed: 0, isBinary: true },
  ]);
});

test.each([
  ["https://github.com/acme/api", "git@github.com:acme/api.git"],
  ["https://user:token@GitHub.com/Acme/api.git/", "ssh://git@github.com/acme/api"],
  ["http://forge.example.com:3000/acme/api", "ssh://git@forge.example.com:2222/acme/api.git"],
  ["file:///srv/git/api.git", "/srv/git/api"],
  ["https://[::1]:8080/a/b", "ssh://[::1]/a/b"],
])("takes %s and %s for the same repository", (one, other) => {
  expect(normalizeRemoteUrl(one)).toBe(normalizeRemoteUrl(other));
});

test.each([
  ["https://github.com/acme/api", "https://github.com/acme/web"],
  ["https://github.com/acme/api", "https://gitlab.com/acme/api"],
  ["/srv/api", "https://srv/api"],
])("tells %s and %s apart", (one, other) => {
  expect(normalizeRemoteUrl(one)).not.toBe(normalizeRemoteUrl(other));
});
