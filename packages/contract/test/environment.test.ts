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

describe("an environment's image", () => {
  const digest = `sha256:${"0a".repeat(32)}`;
  const request = (body: object) => EnvironmentRequest.safeParse({ name: "api", ...body });

  test.each([
    ...["debian", "debian:12", "library/debian:12-slim", "ghcr.io/acme/ci:main", `ghcr.io/acme/ci@${digest}`],
    ...["localhost:5000/x", "registry.example.com:5000/a/b__c-d.e:v1.0_x", `debian:12@${digest}`],
  ])("may be %j", (docker_image) => {
    expect(request({ docker_image }).success).toBe(true);
  });

  test.each([
    ...[
      "",
      "Debian",
      "debian:",
      "debian:-x",
      "https://ghcr.io/a",
      "a//b",
      "-a",
      "a b",
      "debian@sha256:12",
      "a/B",
    ],
    ...["ghcr.io/", "user:token@ghcr.io/a", "../a", "a\n"],
  ])("must not be %j", (docker_image) => {
    expect(request({ docker_image }).error?.issues[0]).toMatchObject({ path: ["docker_image"] });
  });

  test.each(["root", "node", "www-data", "1000", "1000:1000", "_apt"])("may run commands as %j", (user) => {
    expect(request({ docker_image: "debian", user }).success).toBe(true);
  });

  test.each(["", "a b", "no:de", "-x", "1000:", "100000", "Ädam"])("must not run commands as %j", (user) => {
    expect(request({ docker_image: "debian", user }).error?.issues[0]).toMatchObject({ path: ["user"] });
  });

  test("is required for its user and its secret", () => {
    expect(request({ user: "root", docker_image_secret: "TOKEN" }).error?.issues).toMatchObject([
      {
        path: ["docker_image_secret"],
        message: "is only allowed with `docker_image`, `devcontainer` or `dockerfile`",
      },
      { path: ["user"], message: "is only allowed with `docker_image`, `devcontainer` or `dockerfile`" },
    ]);
  });
});
