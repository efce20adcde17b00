import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { publish } from "../../src/publishing/publish.ts";
import { stageFromOutbox } from "../../src/publishing/stage-commits.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { openRepositories } from "../../src/repositories/repositories.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import { git, type HttpServer, makeFolder, Origin, serveHttp } from "../repositories/git-server.ts";
import { silent } from "../sandboxes/sandbox-support.ts";
import { BlobStore, packOf, policyOf, signal } from "./staging-support.ts";

/** Staged commits are pushed to a real git server. */

const login = "bob:a-long-password";
const branch = "outrider/change-12345678";
const origins = makeFolder();
const cache = makeFolder();
let server: HttpServer;
let repositories: Repositories;
let store: BlobStore;
let origin: Origin;
let base: string;
let count = 0;

beforeAll(async () => {
  server = await serveHttp(origins.folder, login);
  repositories = openRepositories({
    ...{ folder: join(cache.folder, "cache"), allowedPaths: [origins.folder], log: silent },
    insecureHosts: [server.host],
  });
});
afterAll(async () => {
  await server?.stop();
  origins.remove();
  cache.remove();
});
beforeEach(() => {
  origin = new Origin(origins.folder, `origin-${++count}`);
  git(origin.bare, "config", "http.receivepack", "true");
  git(origin.bare, "config", "uploadpack.allowFilter", "true");
  base = origin.push("main", { "README.md": "first\n", "src/a.ts": "1\n2\n3\n4\n5\n" });
  store = new BlobStore();
});
afterEach(() => {
  server.before = () => {};
});

type Publication = Parameters<typeof publish>[0]["publication"];
const source = (more: object = {}) => ({
  ...{ url: `http://${server.host}/origin-${count}.git`, credential: login, sharedBy: "TOKEN" },
  ...more,
});

/** Stages the commits of the working copy. */
async function stageCopy(more: object = {}): Promise<Pick<Publication, "tip" | "bundle" | "base_commit">> {
  const tip = origin.run("rev-parse", "HEAD");
  await using outbox = await repositories.openOutbox(source(more), { commit: base, signal });
  await outbox.ingest(packOf(origin.copy, [tip, `^${base}`]), { maxBytes: 2 ** 26 });
  const staged = await stageFromOutbox(outbox, {
    ...{ tip, signal, server: store, policy: policyOf(), folder: cache.folder },
    repository: { path: "app", url: origin.bare, commit: base },
    redactor: new Redactor([]),
  });
  if (!staged?.bundle) throw new Error(JSON.stringify(staged));
  return { tip, bundle: staged.bundle, base_commit: base };
}

const push = (
  publication: Partial<Publication> & Pick<Publication, "tip" | "bundle" | "base_commit">,
  more = {},
) =>
  publish({
    ...{ repositories, server: store, source: source(more), signal },
    publication: { branch, base: "main", on_base_moved: "none", sign_off: false, ...publication },
  });

const remote = (...args: string[]) => git(origin.bare, ...args);
const refs = () => remote("for-each-ref", "--format=%(refname)").split("\n");
const commit = (files: Record<string, string>, message = "change") => origin.commit(files, message);

describe("a push", () => {
  test("creates one branch, changes nothing when repeated, and updates it", async () => {
    const tip = commit({ new: "1" });
    const first = await stageCopy();
    expect(await push(first)).toEqual({ commit: tip, is_forced: false, default_branch: "main" });
    expect(refs()).toEqual(["refs/heads/main", `refs/heads/${branch}`]);
    // A worker that died after the push did not report it.
    expect(await push(first)).toMatchObject({ commit: tip, is_forced: false });
    const next = commit({ new: "2" });
    expect(await push({ ...(await stageCopy()), expected: tip })).toMatchObject({
      commit: next,
      is_forced: false,
    });
    origin.run("reset", "--quiet", "--hard", base);
    const other = commit({ new: "3" });
    expect(await push({ ...(await stageCopy()), expected: next })).toMatchObject({
      commit: other,
      is_forced: true,
    });
    expect(remote("rev-parse", branch)).toBe(other);
  });

  test("does not overwrite what somebody else pushed, and creates a deleted branch again", async () => {
    const tip = commit({ new: "1" });
    const staged = await stageCopy();
    await push(staged);
    origin.run("push", "--quiet", "--force", "origin", `${base}:refs/heads/${branch}`);
    const message = `The branch \`${branch}\` has commits that Outrider did not push. Merge or remove them, or publish to another branch.`;
    await expect(push({ ...staged, expected: tip })).rejects.toMatchObject({ code: "branch_moved", message });
    await expect(push(staged)).rejects.toMatchObject({ code: "branch_moved", isRetryable: false });
    expect(remote("rev-parse", branch)).toBe(base);
    remote("update-ref", "-d", `refs/heads/${branch}`);
    expect(await push({ ...staged, expected: tip })).toMatchObject({ commit: tip });
  });

  test("notices a change that happens during the push", async () => {
    commit({ new: "1" });
    const staged = await stageCopy();
    server.before = ({ method }) => {
      if (method === "POST") remote("update-ref", `refs/heads/${branch}`, base);
    };
    await expect(push(staged)).rejects.toMatchObject({ code: "branch_moved" });
    remote("update-ref", "-d", `refs/heads/${branch}`);
    const { tip } = staged;
    server.before = ({ method }) => {
      if (method === "POST") git(origin.copy, "push", "--quiet", origin.bare, `${tip}:refs/heads/${branch}`);
    };
    expect(await push(staged)).toMatchObject({ commit: tip });
  });

  test("works from a partial mirror, and after the mirror was removed", async () => {
    const more = { sparsePaths: ["src"] };
    commit({ "docs/x": "x".repeat(1_000) }, "docs");
    origin.run("push", "--quiet", "origin", "HEAD:main");
    base = origin.run("rev-parse", "HEAD");
    const tip = commit({ "src/a.ts": "changed\n", "docs/y": "y" });
    const staged = await stageCopy(more);
    expect(await push(staged, more)).toMatchObject({ commit: tip });
    remote("update-ref", "-d", `refs/heads/${branch}`);
    await repositories.prune({ keep: [], maxBytes: 0 });
    expect(await push(staged, more)).toMatchObject({ commit: tip });
  });

  test("is refused for a folder of the worker, and with a damaged bundle", async () => {
    commit({ new: "1" });
    const staged = await stageCopy();
    await expect(push(staged, { url: origin.bare })).rejects.toMatchObject({ code: "permission_denied" });
    store.blobs.set(staged.bundle.sha256, Buffer.from("# v2 git bundle\n\nPACK"));
    await expect(push(staged)).rejects.toMatchObject({ code: "invalid_commits" });
    expect(refs()).toEqual(["refs/heads/main"]);
  });
});

describe("an error of the remote", () => {
  function addHook(script: string) {
    mkdirSync(join(origin.bare, "hooks"), { recursive: true });
    writeFileSync(join(origin.bare, "hooks/pre-receive"), `#!/bin/sh\n${script}\nexit 1\n`);
    chmodSync(join(origin.bare, "hooks/pre-receive"), 0o755);
  }
  const rejected = async () => {
    commit({ new: "1" });
    const error = await push(await stageCopy()).then(
      () => undefined,
      (reason) => reason,
    );
    expect(String(error)).not.toContain("a-long-password");
    return error;
  };

  test("is explained with the text of the hook", async () => {
    addHook("echo 'Commits must name a ticket.' >&2");
    expect(await rejected()).toMatchObject({
      ...{ code: "rejected", isRetryable: false },
      message:
        "The remote repository rejected the push: Commits must name a ticket. Change the commits accordingly and publish again.",
    });
  });

  test.each([
    ["GitLab: You are not allowed to push code to protected branches on this project.", "protected_branch"],
    ["error: GH006: Protected branch update failed for refs/heads/x.", "protected_branch"],
    ["error: GH001: Large files detected.", "too_large"],
    ["error: GH009: Secrets detected! This push failed.", "rejected"],
    [
      "refusing to allow a GitHub App to create or update workflow `.github/workflows/a.yml` without `workflows` permission",
      "permission_denied",
    ],
  ])("%s", async (text, code) => {
    addHook(`cat >&2 <<'END'\n${text}\nEND`);
    expect(await rejected()).toMatchObject({ code, isRetryable: false });
  });

  test("is a wrong credential, a missing permission, or an outage that ends", async () => {
    commit({ new: "1" });
    const staged = await stageCopy();
    await expect(push(staged, { credential: "bob:wrong" })).rejects.toMatchObject({
      code: "authentication_required",
    });
    git(origin.bare, "config", "http.receivepack", "false");
    await expect(push(staged)).rejects.toMatchObject({
      code: "permission_denied",
      message: expect.stringContaining("Give it write access"),
    });
    git(origin.bare, "config", "http.receivepack", "true");
    server.before = (_, response) => void response.writeHead(503).end();
    await expect(push(staged)).rejects.toMatchObject({ code: "unreachable", isRetryable: true });
    server.before = (request) => void request.socket.destroy();
    await expect(push(staged)).rejects.toMatchObject({ code: "unreachable", isRetryable: true });
    server.before = () => {};
    expect(await push(staged)).toMatchObject({ commit: staged.tip });
  });
});

describe("rewritten commits", () => {
  function makeKey(type: string, ...options: string[]) {
    const folder = makeFolder();
    onTestFinished(() => folder.remove());
    const path = join(folder.folder, "key");
    execFileSync("ssh-keygen", ["-q", "-t", type, "-N", "", "-C", "", "-f", path, ...options]);
    return {
      key: readFileSync(path, "utf8"),
      publicKey: readFileSync(`${path}.pub`, "utf8"),
      folder: folder.folder,
    };
  }
  const coAuthor = { name: "Grâce", email: "grace@example.com" };

  test("have trailers and signatures, and are the same each time", async () => {
    origin.run("checkout", "--quiet", "-b", "side");
    commit({ side: "1" }, "side\n\nRefs: #1");
    origin.run("checkout", "--quiet", "main");
    commit({ main: "1" }, "main");
    origin.run("merge", "--quiet", "--no-ff", "side", "-m", "merged");
    const { key, publicKey, folder } = makeKey("ed25519");
    const staged = await stageCopy();
    const policy = { co_author: coAuthor, sign_off: true, signing_key: key };
    const result = await push({ ...staged, ...policy });
    expect(result.commit).not.toBe(staged.tip);
    expect(await push({ ...staged, ...policy })).toEqual(result);
    expect(remote("rev-parse", `${result.commit}^{tree}`)).toBe(remote("rev-parse", `${branch}^{tree}`));
    expect(remote("log", "-1", "--format=%B", `${result.commit}^2`)).toBe(
      "side\n\nRefs: #1\nCo-authored-by: Grâce <grace@example.com>\nSigned-off-by: test <test@example.com>",
    );
    expect(remote("log", "-1", "--format=%B", `${result.commit}^1`)).toBe(
      "main\n\nCo-authored-by: Grâce <grace@example.com>\nSigned-off-by: test <test@example.com>",
    );
    writeFileSync(join(folder, "signers"), `test@example.com ${publicKey}`);
    const signers = ["-c", `gpg.ssh.allowedSignersFile=${join(folder, "signers")}`];
    const statuses = remote(...signers, "log", "--format=%G? %P", `${base}..${branch}`);
    expect(statuses.split("\n").map((line) => line.slice(0, 1))).toEqual(["G", "G", "G"]);
    // The next turn adds a commit, and the earlier ones stay the same.
    const next = commit({ more: "1" }, "more");
    const grown = await push({ ...(await stageCopy()), ...policy, expected: result.commit });
    expect(grown).toMatchObject({ is_forced: false });
    expect(remote("rev-parse", `${grown.commit}^`)).toBe(result.commit);
    expect(next).not.toBe(grown.commit);
  });

  test("keep their trailers, and need no rewriting then", async () => {
    const message = "x\n\nSigned-off-by: test <test@example.com>";
    const tip = commit({ x: "x" }, message);
    expect(await push({ ...(await stageCopy()), sign_off: true })).toMatchObject({ commit: tip });
  });

  test("need a key with which signatures are always the same", async () => {
    commit({ x: "x" });
    const staged = await stageCopy();
    const { key } = makeKey("ecdsa");
    await expect(push({ ...staged, signing_key: key })).rejects.toMatchObject({
      code: "signing_key_invalid",
      message: expect.stringContaining("neither an Ed25519 nor an RSA key"),
    });
    const { key: locked } = makeKey("ed25519", "-N", "passphrase");
    await expect(push({ ...staged, signing_key: locked })).rejects.toMatchObject({
      code: "signing_key_invalid",
    });
    expect(refs()).not.toContain(`refs/heads/${branch}`);
  });
});

describe("a base branch that has moved", () => {
  async function stageAndMove(files: Record<string, string>) {
    commit({ "src/a.ts": "one\n2\n3\n4\n5\n" }, "mine");
    const staged = await stageCopy();
    origin.run("checkout", "--quiet", "--detach", base);
    const moved = origin.push("main", files);
    return { staged, moved };
  }

  test.each(["merge", "rebase"] as const)(
    "is integrated by %s, also if an attempt was not reported",
    async (how) => {
      const { staged, moved } = await stageAndMove({ "src/a.ts": "1\n2\n3\n4\nfive\n" });
      const { commit: pushed } = await push({ ...staged, on_base_moved: how });
      expect(remote("show", `${pushed}:src/a.ts`)).toBe("one\n2\n3\n4\nfive");
      expect(remote("log", "-1", "--format=%P", pushed)).toBe(
        how === "merge" ? `${staged.tip} ${moved}` : moved,
      );
      expect(remote("log", "-1", "--format=%an", how === "merge" ? `${pushed}^1` : pushed)).toBe("test");
      expect(await push({ ...staged, on_base_moved: how })).toMatchObject({ commit: pushed });
      // The base moves again before the next attempt.
      origin.push("main", { other: "1" });
      expect(await push({ ...staged, on_base_moved: how })).toEqual({
        commit: pushed,
        is_forced: false,
        default_branch: "main",
      });
      expect(await push({ ...staged, on_base_moved: how, expected: pushed })).not.toMatchObject({
        commit: pushed,
      });
    },
  );

  test.each(["merge", "rebase"] as const)("with conflicts names the files (%s)", async (how) => {
    const { staged } = await stageAndMove({ "src/a.ts": "ONE\n2\n3\n4\n5\n" });
    await expect(push({ ...staged, on_base_moved: how })).rejects.toMatchObject({
      code: "base_conflict",
      message:
        "The base branch `main` has newer commits that conflict with the changes in `src/a.ts`. Merge `main` in the repository, resolve the conflicts and publish again.",
    });
    expect(refs()).toEqual(["refs/heads/main"]);
  });

  test("does not matter if the policy says so", async () => {
    const { staged } = await stageAndMove({ "src/a.ts": "ONE\n2\n3\n4\n5\n" });
    expect(await push(staged)).toMatchObject({ commit: staged.tip });
  });
});
