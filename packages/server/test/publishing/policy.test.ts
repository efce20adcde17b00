import { resolvePublishPolicy } from "@outrider/contract/publish-policy";
import type { StagedCommits } from "@outrider/contract/worker/publication";
import { describe, expect, test } from "vitest";
import { branchName, repositoryKey } from "../../src/engine/publishing/branch-name.ts";
import { couldContain, matchesGlob } from "../../src/engine/publishing/path-globs.ts";
import { checkPolicy } from "../../src/engine/publishing/policy.ts";
import { retryDelay } from "../../src/engine/publishing/retries.ts";
import { kindToPublish } from "../../src/engine/publishing/triggers.ts";

const commit = "c".repeat(40);

function staged(change: Partial<StagedCommits> | string[]): StagedCommits {
  const paths = Array.isArray(change) ? change : ["src/a.ts"];
  return {
    path: "api",
    base_commit: commit,
    tip: commit,
    bundle: { sha256: "a".repeat(64), size_bytes: 1 },
    commits: 1,
    files: paths.map((path) => ({ path, status: "modified" as const })),
    has_more_files: false,
    diff_bytes: 100,
    secrets: [],
    problems: [],
    ...(Array.isArray(change) ? {} : change),
  };
}

describe("a glob", () => {
  test.each([
    [".github/workflows/**", ".github/workflows/ci.yml", true],
    [".github/workflows/**", ".github/workflows/a/b.yml", true],
    [".github/workflows/**", ".GitHub/Workflows/ci.yml", true],
    [".github/workflows/**", ".github/workflows/.hidden", true],
    [".github/workflows/**", "docs/.github/workflows/ci.yml", false],
    ["scripts", "scripts/deploy.sh", true],
    ["scripts/", "scripts/deploy.sh", true],
    ["scripts", "my-scripts/deploy.sh", false],
    ["*.sh", "deploy.sh", true],
    ["*.sh", "ci/deploy.sh", false],
    ["**/*.sh", "deploy.sh", true],
    ["**/*.sh", "a/b/deploy.sh", true],
    ["a/**/z", "a/z", true],
    ["a/**/z", "a/b/c/z/file", true],
    ["a/**/z", "b/a/z", false],
    ["?.txt", "a.txt", true],
    ["?.txt", "ab.txt", false],
    ["[ab].txt", "a.txt", false],
    ["a.b", "axb", false],
  ])("%s matches %s: %s", (glob, path, expected) => {
    expect(matchesGlob(glob, path)).toBe(expected);
  });

  test("takes little time for a hostile path", () => {
    expect(matchesGlob(`${"*a".repeat(100)}b`, "a".repeat(4_096))).toBe(false);
    expect(matchesGlob(`${"**/a/".repeat(40)}b`, "a/".repeat(2_000))).toBe(false);
  });

  test("could match inside a folder that a link replaces", () => {
    expect(couldContain(".github", ".github/workflows/**")).toBe(true);
    expect(couldContain(".github/workflows", ".github/workflows/*.yml")).toBe(true);
    expect(couldContain("src", ".github/workflows/**")).toBe(false);
  });
});

describe("a policy", () => {
  const check = (policy: object, change: Partial<StagedCommits> | string[]) =>
    checkPolicy(resolvePublishPolicy(policy), staged(change));

  test("publishes ordinary changes", () => {
    expect(check({}, ["src/a.ts", "README.md"])).toEqual({ type: "publish" });
  });

  test("refuses changes to protected paths and names them", () => {
    const message = expect.stringContaining("`.github/workflows/ci.yml`");
    expect(check({}, ["a.ts", ".github/workflows/ci.yml"])).toEqual({ type: "refuse", message });
    expect(check({ protected_paths: ["infra"] }, ["infra/main.tf"])).toMatchObject({ type: "refuse" });
  });

  test("wants approval for files that CI executes, unless the policy says otherwise", () => {
    const reason = expect.stringContaining("`Jenkinsfile`");
    expect(check({}, ["Jenkinsfile"])).toEqual({ type: "approve", reason });
    const open = { protected_paths: [] };
    expect(check(open, [".github/workflows/ci.yml"])).toMatchObject({ type: "approve" });
    expect(check({ ...open, approval: "none" }, [".github/workflows/ci.yml"])).toEqual({ type: "publish" });
    expect(check({ approval_paths: ["Makefile"] }, ["makefile"])).toMatchObject({ type: "approve" });
    expect(check({ approval: "required" }, ["a.ts"])).toMatchObject({ type: "approve" });
  });

  test.each(["symlink", "submodule"] as const)("refuses a %s in place of a protected folder", (kind) => {
    const files = [{ path: ".github", status: "added" as const, kind }];
    expect(check({}, { files })).toMatchObject({ type: "refuse" });
    expect(check({ protected_paths: [] }, { files })).toMatchObject({ type: "approve" });
  });

  test("is strict if it does not know all files", () => {
    expect(check({}, { has_more_files: true })).toMatchObject({ type: "refuse" });
    expect(check({ protected_paths: [] }, { has_more_files: true })).toMatchObject({ type: "approve" });
    expect(check({ protected_paths: [], approval: "none" }, { has_more_files: true })).toEqual({
      type: "publish",
    });
  });

  test("always refuses secrets, and says where they are", () => {
    const secrets = [{ commit, path: "a.env", line: 3, rule: "DEPLOY_KEY" }];
    const message = expect.stringContaining("DEPLOY_KEY in `a.env` line 3 of commit cccccccccccc");
    expect(check({ approval: "none", protected_paths: [] }, { secrets })).toEqual({
      type: "refuse",
      message,
    });
  });

  test("refuses problems, too large diffs and commits that are not stored", () => {
    const large = { diff_bytes: 6 * 1024 * 1024 };
    expect(check({}, large)).toEqual({ type: "refuse", message: expect.stringContaining("6.0 MiB") });
    expect(check({ max_diff_bytes: 10 * 1024 * 1024 }, large)).toEqual({ type: "publish" });
    const problems = ["The file a.bin is too large."];
    expect(check({}, { problems })).toEqual({ type: "refuse", message: expect.stringContaining("a.bin") });
    const { bundle, ...unstored } = staged([]);
    expect(checkPolicy(resolvePublishPolicy(), unstored)).toMatchObject({ type: "refuse" });
  });
});

describe("what a request publishes", () => {
  const success = { trigger: "turn_end", outcome: "succeeded" } as const;
  const failure = { trigger: "turn_end", outcome: "failed" } as const;
  const kind = (
    policy: object,
    situation: { configured?: "none" | "branch" | "pull_request"; lastKind?: "branch" | "pull_request" },
    request: Parameters<typeof kindToPublish>[1],
  ) =>
    kindToPublish(
      {
        policy: resolvePublishPolicy(policy),
        configured: situation.configured,
        lastKind: situation.lastKind,
      },
      request,
    );

  test("depends on `when` at the end of a turn", () => {
    expect(kind({}, {}, success)).toBeUndefined();
    expect(kind({ when: "on_success" }, {}, success)).toBe("draft_pull_request");
    expect(kind({ when: "on_success" }, {}, failure)).toBeUndefined();
    expect(kind({ when: "always" }, {}, failure)).toBe("draft_pull_request");
  });

  test("depends on the run's `publish`, within the policy", () => {
    expect(kind({}, { configured: "branch" }, success)).toBe("branch");
    expect(kind({}, { configured: "branch" }, failure)).toBeUndefined();
    expect(kind({}, { configured: "pull_request" }, success)).toBeUndefined();
    expect(kind({ when: "always" }, { configured: "none" }, success)).toBeUndefined();
  });

  test("is updated by later turns once it is published", () => {
    expect(kind({}, { lastKind: "branch" }, success)).toBe("branch");
    expect(kind({}, { lastKind: "branch" }, failure)).toBeUndefined();
    expect(kind({ publish: "branch" }, { lastKind: "pull_request" }, success)).toBe("branch");
    expect(kind({ publish: "none" }, { lastKind: "branch" }, success)).toBeUndefined();
  });

  test("is a branch for `git push` and what the policy allows for the agent", () => {
    expect(kind({}, {}, { trigger: "push" })).toBe("branch");
    expect(kind({ publish: "pull_request" }, { lastKind: "pull_request" }, { trigger: "push" })).toBe(
      "pull_request",
    );
    expect(kind({}, {}, { trigger: "agent" })).toBe("draft_pull_request");
  });
});

test("a branch name has the words of the title and a part of the run's ID", () => {
  const runId = "019a1ed2-dde9-7459-93e4-74c9014b801f";
  expect(branchName("outrider/", { runId, title: "Fix: Café-Parser!" })).toBe(
    "outrider/fix-cafe-parser-014b801f",
  );
  expect(branchName("x/", { runId, title: "修复" })).toBe("x/run-014b801f");
  const long = branchName("x/", { runId, title: "a ".repeat(100) });
  expect(long).toMatch(/^x\/(a-)+014b801f$/);
  expect(long.length).toBeLessThan(60);
});

test("a repository has the same key for all forms of its URL", () => {
  const urls = [
    "https://github.com/Acme/API.git",
    "https://user@github.com/acme/api",
    "https://github.com:443/acme/api/",
    "ssh://git@github.com:22/acme/api.git",
    "git@github.com:acme/api.git",
  ];
  expect(new Set(urls.map(repositoryKey))).toEqual(new Set(["github.com/acme/api"]));
});

test("pauses between attempts grow from 5 seconds to 5 minutes", () => {
  expect([1, 2, 3, 7, 8, 1_000].map(retryDelay)).toEqual([5_000, 10_000, 20_000, 300_000, 300_000, 300_000]);
});
