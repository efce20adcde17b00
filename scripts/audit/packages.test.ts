import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { faults, type Lock, type Locked } from "./packages.ts";

const own = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lock;

/** What is said about one more package. */
function saidOf(locked: Locked, path = "node_modules/one-more"): string[] {
  return faults({ packages: { ...own.packages, [path]: { version: "1.0.0", ...locked } } });
}

describe("a package", () => {
  it.each(["MIT", "(AFL-2.1 OR BSD-3-Clause)", "(MIT AND Zlib)", "MIT OR GPL-3.0-or-later"])(
    "may come under %s",
    (license) => {
      expect(saidOf({ license })).toEqual([]);
    },
  );

  it.each(["GPL-3.0-only", "(MIT AND GPL-3.0-only)", "SEE LICENSE IN LICENSE", "MPL-2.0", undefined])(
    "may not come under %s",
    (license) => {
      expect(saidOf(license ? { license } : {})).toEqual([
        `one-more 1.0.0: the licence ${license ?? "(none)"} is not on our list`,
      ]);
    },
  );

  it("that we only work with may come under MPL-2.0", () => {
    expect(saidOf({ license: "MPL-2.0", dev: true })).toEqual([]);
  });

  it("may not run a script at installation that nobody looked at, however deep it lies", () => {
    const deep = "node_modules/a/node_modules/one-more";
    expect(saidOf({ license: "MIT", hasInstallScript: true }, deep)).toEqual([
      "one-more 1.0.0: runs a script when it is installed, and nobody has said why it may",
    ]);
  });
});

it("an excuse for a package that is gone is said", () => {
  const { "node_modules/deno": _, ...packages } = own.packages;
  expect(faults({ packages })).toEqual([
    "deno: scripts/audit/packages.ts excuses it, but it is not installed",
  ]);
});
