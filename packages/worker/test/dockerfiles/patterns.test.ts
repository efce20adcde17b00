import { expect, test } from "vitest";
import { matchesName, matchesPath, parseIgnoreFile } from "../../src/dockerfiles/patterns.ts";

test.each([
  ["*.txt", "a.txt", true],
  ["*.txt", "a.md", false],
  ["a*b*c", "a-b-b-c", true],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["[a-c]x", "bx", true],
  ["[^a-c]x", "bx", false],
  ["[!a-c]x", "dx", true],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["[a", "[a", true],
])("%s matches %s: %s", (pattern, name, expected) => {
  expect(matchesName(pattern, name)).toBe(expected);
});

test("** matches any number of folders", () => {
  const matches = (pattern: string, path: string) => matchesPath(pattern.split("/"), path.split("/"));
  expect(matches("**/a.txt", "a.txt")).toBe(true);
  expect(matches("**/a.txt", "x/y/a.txt")).toBe(true);
  expect(matches("x/**/z", "x/a/b/z")).toBe(true);
  expect(matches("x/*/z", "x/a/b/z")).toBe(false);
  expect(matches("x/**", "y/a")).toBe(false);
});

test("the last rule of .dockerignore that matches decides", () => {
  const isIgnored = parseIgnoreFile(
    "# all\n/node_modules\n*.md\n!README.md\n**/*.log\ndocs/*\n!docs/keep\n\n",
  );
  const paths = [
    "node_modules/a/b",
    "a.md",
    "README.md",
    "sub/a.md",
    "x/y.log",
    "docs/a/b",
    "docs/keep",
    "src",
  ];
  expect(paths.filter(isIgnored)).toEqual(["node_modules/a/b", "a.md", "x/y.log", "docs/a/b"]);
  expect(parseIgnoreFile("*\n!src\n")("src/a")).toBe(false);
  expect(parseIgnoreFile("*\n!src\n")("lib/a")).toBe(true);
});

test("a hostile pattern is matched in bounded time", () => {
  expect(matchesName("*a".repeat(200), "a".repeat(5_000).concat("b"))).toBe(false);
  expect(matchesPath(Array(200).fill("**").concat("x"), Array(300).fill("a"))).toBe(false);
  expect(() => parseIgnoreFile("a\n".repeat(501))).toThrow("more than 500 rules");
});
