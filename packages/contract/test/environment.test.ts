import { describe, expect, test } from "vitest";
import { EnvironmentRequest } from "../src/environment.ts";

const parse = (repo: object) =>
  EnvironmentRequest.safeParse({ name: "api", repos: [{ owner: "acme", repo: "api", ...repo }] });

describe("a repository's sparse_paths", () => {
  test.each([["packages/api"], [".github"], ["a b/ü"], ["dir.git/x"], ["a/..b"]])(
    "may contain %j",
    (path) => {
      expect(parse({ sparse_paths: [path] }).success).toBe(true);
    },
  );

  test.each([
    ...[
      "",
      ".",
      "..",
      "a/..",
      "../a",
      "a/../b",
      "./a",
      "a//b",
      "a/",
      "/a",
      "-a",
      "#a",
      "!a",
      "a*",
      "a?",
      "[a]",
    ],
    ...["a\\b", 'a"b', "a\nb", ".git", "a/.git/b"],
  ])("must not contain %j", (path) => {
    const [issue] = parse({ sparse_paths: ["src", path] }).error?.issues ?? [];
    expect(issue).toMatchObject({
      path: ["repos", 0, "sparse_paths", 1],
      message: "must be a folder in the repository, such as `packages/api`, without wildcards",
    });
  });

  test("must not be empty or contain duplicates", () => {
    expect(parse({ sparse_paths: [] }).success).toBe(false);
    expect(parse({ sparse_paths: ["a", "a"] }).success).toBe(false);
  });
});
