import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findProblems, type LockedPackage, type Lockfile } from "./packages.ts";

const lockfile = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lockfile;

/** Returns the problems after one more package is added to the lockfile. */
function problemsWith(locked: LockedPackage, path = "node_modules/one-more"): string[] {
  return findProblems({ packages: { ...lockfile.packages, [path]: { version: "1.0.0", ...locked } } });
}

describe("a package", () => {
  it.each(["MIT", "(AFL-2.1 OR BSD-3-Clause)", "(MIT AND Zlib)", "MIT OR GPL-3.0-or-later"])(
    "may have the license %s",
    (license) => {
      expect(problemsWith({ license })).toEqual([]);
    },
  );

  it.each(["GPL-3.0-only", "(MIT AND GPL-3.0-only)", "SEE LICENSE IN LICENSE", "MPL-2.0", undefined])(
    "may not have the license %s",
    (license) => {
      expect(problemsWith(license ? { license } : {})).toEqual([
        `one-more 1.0.0: the license ${license ?? "(none)"} is not allowed`,
      ]);
    },
  );

  it("may have the license MPL-2.0 if it is a development dependency", () => {
    expect(problemsWith({ license: "MPL-2.0", dev: true })).toEqual([]);
  });

  it("may not run an install script that is not allowed, even if it is nested", () => {
    const nested = "node_modules/a/node_modules/one-more";
    expect(problemsWith({ license: "MIT", hasInstallScript: true }, nested)).toEqual([
      "one-more 1.0.0: runs an install script that is not allowed",
    ]);
  });
});

it("reports an exception for a package that is not installed", () => {
  const { "node_modules/deno": _, ...packages } = lockfile.packages;
  expect(findProblems({ packages })).toEqual([
    "deno: scripts/audit/packages.ts lists it, but it is not installed",
  ]);
});
