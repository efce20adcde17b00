import type { RunReceipt } from "@outrider/contract/run";
import { describe, expect, test } from "vitest";
import { chooseWorkingFolder, relativeTo } from "../../src/workspace/working-folder.ts";

const repository = (path: string) => ({ url: "https://example.com/x.git", path, commit: "0".repeat(40) });
const receiptOf = (more: Partial<RunReceipt>): RunReceipt => ({
  ...{ worker: "w", harness_version: "1", model_id: "m", network: { mode: "none" } },
  ...more,
});

describe("the working folder", () => {
  test.each([
    [[], "/workspace"],
    [["site"], "/workspace/site"],
    [["deep/site/"], "/workspace/deep/site"],
    [["."], "/workspace"],
    [["site", "other"], "/workspace"],
  ])("with the repositories %j is %s", (paths, expected) => {
    expect(chooseWorkingFolder(paths.map(repository), undefined)).toBe(expected);
  });

  test("stays the same for a run that has started, also in an older version", () => {
    const repositories = [repository("site")];
    const older = receiptOf({ repositories });
    expect(chooseWorkingFolder(repositories, older)).toBe("/workspace");
    const newer = receiptOf({ repositories, working_folder: "/workspace/site" });
    expect(chooseWorkingFolder([...repositories, repository("other")], newer)).toBe("/workspace/site");
    expect(chooseWorkingFolder(repositories, receiptOf({}))).toBe("/workspace/site");
  });
});

describe("a change", () => {
  const change = (path: string, patch: string, kind: "created" | "modified" | "deleted" = "modified") =>
    relativeTo("/workspace/site", { path, kind, patch });

  test("inside the working folder has a path relative to it, also in its patch", () => {
    expect(
      change(
        "site/site/a",
        "--- a/site/site/a\n+++ b/site/site/a\n@@ -1 +1 @@\n--- a/site/x\n+++ b/site/x\n",
      ),
    ).toEqual({
      path: "site/a",
      kind: "modified",
      patch: "--- a/site/a\n+++ b/site/a\n@@ -1 +1 @@\n--- a/site/x\n+++ b/site/x\n",
    });
    expect(change("site/é", '--- /dev/null\n+++ "b/site/\\303\\251"\n@@\n', "created").patch).toBe(
      '--- /dev/null\n+++ "b/\\303\\251"\n@@\n',
    );
    expect(change("site/b", "Binary files /dev/null and b/site/b differ\n", "created").patch).toBe(
      "Binary files /dev/null and b/b differ\n",
    );
  });

  test("outside the working folder has an absolute path", () => {
    expect(change("sites/a", "--- a/sites/a\n")).toMatchObject({
      path: "/workspace/sites/a",
      patch: "--- a/sites/a\n",
    });
  });
});
