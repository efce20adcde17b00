import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { type Manifest, problems, type Tree } from "./arrows.ts";

const root = resolve(import.meta.dirname, "..");

function tree(): Tree {
  const load = (pattern: string) =>
    globSync(pattern, { cwd: root, exclude: ["**/node_modules/**"] })
      .sort()
      .map((path) => [path, readFileSync(resolve(root, path), "utf8")] as const);
  const manifests = [...load("package.json"), ...load("packages/*/package.json")];
  return {
    files: Object.fromEntries(load("packages/*/src/**/*.{ts,tsx}")),
    manifests: Object.fromEntries(manifests.map(([path, text]) => [path, JSON.parse(text) as Manifest])),
  };
}

describe("this repository", () => {
  it("has files to check", () => {
    expect(Object.keys(tree().files).length).toBeGreaterThan(0);
  });

  it("keeps its arrows, has no cycle and declares its packages exactly", () => {
    expect(problems(tree())).toEqual([]);
  });
});

/** A small world in which all is well, but for what a test adds. */
function world(files: Record<string, string>, manifests: Record<string, Partial<Manifest>> = {}): string[] {
  const all: Record<string, Manifest> = {
    "packages/contract/package.json": {
      name: "@outrider/contract",
      exports: { "./*": "./src/*.ts" },
      dependencies: { zod: "4.6.7" },
    },
    "packages/sdk/package.json": {
      name: "@outrider/sdk",
      exports: { ".": "./src/client.ts" },
      dependencies: { "@outrider/contract": "0.1.0" },
    },
    "packages/server/package.json": {
      name: "@outrider/server",
      exports: { "./*": "./src/*.ts" },
      dependencies: { "@outrider/contract": "0.1.0", fastify: "5.12.8" },
    },
    "packages/worker/package.json": {
      name: "@outrider/worker",
      dependencies: { "@outrider/server": "0.1.0", "@outrider/sdk": "0.1.0" },
    },
    "packages/cli/package.json": { name: "@outrider/cli", dependencies: { "@outrider/server": "0.1.0" } },
  };
  for (const [path, manifest] of Object.entries(manifests))
    all[path] = { name: path, ...all[path], ...manifest };
  return problems({ files, manifests: all });
}

describe("an arrow", () => {
  it("may be followed, also over more than one step", () => {
    const files = {
      "packages/contract/src/run.ts": `import { z } from "zod"; import "./text.ts";`,
      "packages/contract/src/text.ts": `export const text = 1;`,
      "packages/server/src/store/runs.ts": `import { run } from "@outrider/contract/run";`,
      "packages/server/src/engine/runs.ts": `import { rows } from "../store/runs.ts";`,
      "packages/server/src/api/routes/runs.ts": `import { create } from "../../engine/runs.ts"; import "../../store/runs.ts";`,
      "packages/server/src/main.ts": `import "./api/routes/runs.ts"; import "./config.ts"; import "node:fs"; import "fastify";`,
      "packages/server/src/config.ts": `export const config = () => process.env.PORT;`,
      "packages/cli/src/main.ts": `import { startServer } from "@outrider/server/main"; process.env.HOME;`,
    };
    expect(world(files)).toEqual([]);
  });

  it.each([
    ["a static import", `import { create } from "../engine/runs.ts";`],
    ["an import for its effect", `import "../engine/runs.ts";`],
    ["a dynamic import", `const later = () => import("../engine/runs.ts");`],
    ["an export from", `export { create } from "../engine/runs.ts";`],
    ["an export of all", `export * from "../engine/runs.ts";`],
    ["a type import", `import type { Run } from "../engine/runs.ts";`],
    ["a type in place", `type Run = import("../engine/runs.ts").Run;`],
  ])("against the direction fails as %s", (_, text) => {
    expect(world({ "packages/server/src/store/runs.ts": text })).toEqual([
      "packages/server/src/store/runs.ts: server/store must not import server/engine",
    ]);
  });

  it("between packages fails against the direction", () => {
    expect(world({ "packages/worker/src/worker.ts": `import "@outrider/server/store/runs";` })).toEqual([
      "packages/worker/src/worker.ts: worker must not import server/store",
    ]);
  });

  it("for types alone fails as a value", () => {
    const sdk = (text: string) => world({ "packages/sdk/src/client.ts": text });
    expect(sdk(`import type { Run } from "@outrider/contract/run";`)).toEqual([]);
    expect(sdk(`import { type Run } from "@outrider/contract/run";`)).toEqual([]);
    expect(sdk(`import { type Run, parse } from "@outrider/contract/run";`)).toEqual([
      "packages/sdk/src/client.ts: sdk must not import contract",
    ]);
  });

  it("fails from a place without a rule", () => {
    expect(world({ "packages/server/src/utils/a.ts": `import "../config.ts";` })).toEqual([
      "packages/server/src/utils/a.ts: scripts/arrows.ts has no rule for server/utils",
    ]);
  });

  it("fails when it goes into another package by path, or into its own by name", () => {
    expect(world({ "packages/server/src/main.ts": `import "../../contract/src/run.ts";` })).toEqual([
      "packages/server/src/main.ts: reaches into packages/contract/src/run.ts by path",
    ]);
    expect(world({ "packages/server/src/main.ts": `import "@outrider/server/config";` })).toEqual([
      "packages/server/src/main.ts: imports its own package by name",
    ]);
  });

  it("fails when it is computed", () => {
    expect(world({ "packages/cli/src/main.ts": `import("./commands/" + process.argv[2]);` })).toEqual([
      "packages/cli/src/main.ts: a computed import hides its arrow",
    ]);
  });
});

describe("a cycle", () => {
  const store = (name: string) => `packages/server/src/store/${name}.ts`;

  it("of a file with itself fails", () => {
    expect(world({ [store("a")]: `import "./a.ts";` })).toEqual([`cycle: ${store("a")} -> ${store("a")}`]);
  });

  it("of two files fails once, also by types", () => {
    const files = { [store("b")]: `import type { A } from "./a.ts";`, [store("a")]: `import "./b.ts";` };
    expect(world(files)).toEqual([`cycle: ${store("a")} -> ${store("b")} -> ${store("a")}`]);
  });

  it("of three files fails, also behind a file outside it", () => {
    const files = {
      [store("outside")]: `import "./c.ts";`,
      [store("a")]: `import "./b.ts";`,
      [store("b")]: `import "./c.ts";`,
      [store("c")]: `import "./a.ts";`,
    };
    expect(world(files)).toEqual([`cycle: ${store("a")} -> ${store("b")} -> ${store("c")} -> ${store("a")}`]);
  });

  it("is not made by two ways to one file", () => {
    const files = {
      [store("a")]: `import "./b.ts"; import "./c.ts";`,
      [store("b")]: `import "./c.ts";`,
      [store("c")]: "",
    };
    expect(world(files)).toEqual([]);
  });
});

describe("the environment", () => {
  it.each([
    `export const port = process.env.PORT;`,
    `export const port = process["env"].PORT;`,
    `export const port = globalThis.process.env.PORT;`,
    `const { env } = process;`,
    `import { env } from "node:process";`,
    `import process from "node:process";`,
  ])("is read in its places alone: %s", (text) => {
    expect(world({ "packages/server/src/api/app.ts": text })).toEqual([
      "packages/server/src/api/app.ts: process.env is read in server/config and cli alone",
    ]);
  });

  it("may be spoken of", () => {
    const text = `// not process.env\nconst said = "process.env"; process.exit(Number(said));`;
    expect(world({ "packages/server/src/api/app.ts": text })).toEqual([]);
  });
});

describe("a package", () => {
  it("for browsers must not import Node", () => {
    expect(world({ "packages/contract/src/run.ts": `import { readFileSync } from "node:fs";` })).toEqual([
      "packages/contract/src/run.ts: contract runs in browsers, node:fs does not",
    ]);
  });

  it("contract imports zod alone", () => {
    expect(world({ "packages/contract/src/run.ts": `import fastify from "fastify";` })).toEqual([
      "packages/contract/src/run.ts: contract must not import fastify",
    ]);
  });

  it("declares what it imports", () => {
    const files = {
      "packages/server/src/store/db.ts": `import postgres from "postgres"; import "@scope/thing/part";`,
      "packages/cli/src/main.ts": `import type { Run } from "@outrider/contract/run";`,
    };
    expect(world(files)).toEqual([
      "packages/server/src/store/db.ts: postgres is not a dependency of server",
      "packages/server/src/store/db.ts: @scope/thing is not a dependency of server",
      "packages/cli/src/main.ts: @outrider/contract is not a dependency of cli",
    ]);
  });

  it.each(["^1.2.3", "~1.2.3", "1.2", "*", "latest", ">=1.0.0", "workspace:*"])(
    "must not depend on %s",
    (version) => {
      const path = "packages/server/package.json";
      for (const kind of ["dependencies", "devDependencies", "optionalDependencies"]) {
        expect(world({}, { [path]: { [kind]: { some: version } } })).toEqual([
          `${path}: some must have an exact version, not ${version}`,
        ]);
      }
    },
  );

  it("may depend on an exact version before a release", () => {
    expect(world({}, { "package.json": { devDependencies: { some: "18.4.0-beta.17" } } })).toEqual([]);
  });
});
