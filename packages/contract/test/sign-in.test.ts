import { describe, expect, test } from "vitest";
import { safeRedirectPath, signInPath } from "../src/auth/sign-in-path.ts";

describe("where a browser goes after it has signed in", () => {
  test.each([
    "/",
    "/runs/0199a0b2-0000-7000-8000-000000000000",
    "/runs?state=FAILED&q=a%2Fb#e-12",
    "/settings/users",
  ])("is a path of ours: %s", (path) => {
    expect(safeRedirectPath(path)).toBe(path);
  });

  test.each([
    undefined,
    null,
    "",
    "runs",
    "//evil.example",
    "//evil.example/runs",
    "/\\evil.example",
    "\\\\evil.example",
    "/runs\\..\\..",
    "https://evil.example/",
    "javascript:alert(1)",
    " /runs",
    "/\t/evil.example",
    "/\n/evil.example",
    "/./\u0000",
    "/..//evil.example",
    "/.//evil.example",
    "/%2e//evil.example",
    "///evil.example",
  ])("is the home page where %j might lead elsewhere", (next) => {
    expect(safeRedirectPath(next)).toBe("/");
  });

  test("is remembered on the way to the sign-in page", () => {
    expect(signInPath("/runs/1?a=b#c")).toBe("/login?next=%2Fruns%2F1%3Fa%3Db%23c");
    expect(signInPath("/")).toBe("/login");
    expect(signInPath("//evil.example")).toBe("/login");
  });
});
