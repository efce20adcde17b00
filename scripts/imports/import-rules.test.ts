import { describe, expect, it } from "vitest";
import { findViolations, type Manifest } from "./import-rules.ts";

/** Checks a small valid repository together with the given files and manifests. */
function check(files: Record<string, string>, manifests: Record<string, Partial<Manifest>> = {}): string[] {
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
  return findViolations({ files, manifests: all });
}

describe("an import", () => {
  it("is allowed in the direction of the rules", () => {
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
    expect(check(files)).toEqual([]);
  });

  it("into a private folder is reported, except from the files that the rules name", () => {
    const inside = "packages/worker/src/sandboxes/local/local-provider.ts";
    const files = {
      [inside]: `import "./bubblewrap.ts";`,
      "packages/worker/src/sandboxes/local/bubblewrap.ts": "",
      "packages/worker/src/sandboxes/open-provider.ts": `import "./local/local-provider.ts";`,
      "packages/worker/src/workspace/workspace.ts": `import "../sandboxes/local/local-provider.ts";`,
    };
    expect(check(files)).toEqual([
      `packages/worker/src/workspace/workspace.ts: must not import ${inside}, which is private to its folder`,
    ]);
  });

  it.each([
    ["a static import", `import { create } from "../engine/runs.ts";`],
    ["a side-effect import", `import "../engine/runs.ts";`],
    ["a dynamic import", `const later = () => import("../engine/runs.ts");`],
    ["an export from", `export { create } from "../engine/runs.ts";`],
    ["an export of all", `export * from "../engine/runs.ts";`],
    ["a type import", `import type { Run } from "../engine/runs.ts";`],
    ["an inline type import", `type Run = import("../engine/runs.ts").Run;`],
  ])("against the rules is reported as %s", (_, text) => {
    expect(check({ "packages/server/src/store/runs.ts": text })).toEqual([
      "packages/server/src/store/runs.ts: server/store must not import server/engine",
    ]);
  });

  it("of another package against the rules is reported", () => {
    expect(check({ "packages/worker/src/worker.ts": `import "@outrider/server/store/runs";` })).toEqual([
      "packages/worker/src/worker.ts: worker must not import server/store",
    ]);
  });

  it("of a value is reported if only types are allowed", () => {
    const sdk = (text: string) => check({ "packages/sdk/src/client.ts": text });
    expect(sdk(`import type { Run } from "@outrider/contract/run";`)).toEqual([]);
    expect(sdk(`import { type Run } from "@outrider/contract/run";`)).toEqual([]);
    expect(sdk(`import { type Run, parse } from "@outrider/contract/run";`)).toEqual([
      "packages/sdk/src/client.ts: sdk must not import contract",
    ]);
  });

  it("from a folder without a rule is reported", () => {
    expect(check({ "packages/server/src/utils/a.ts": `import "../config.ts";` })).toEqual([
      "packages/server/src/utils/a.ts: scripts/imports/import-rules.ts has no rule for server/utils",
    ]);
  });

  it("of another package by path or of its own package by name is reported", () => {
    expect(check({ "packages/server/src/main.ts": `import "../../contract/src/run.ts";` })).toEqual([
      "packages/server/src/main.ts: imports packages/contract/src/run.ts of another package by path",
    ]);
    expect(check({ "packages/server/src/main.ts": `import "@outrider/server/config";` })).toEqual([
      "packages/server/src/main.ts: imports its own package by name",
    ]);
  });

  it("with a computed specifier is reported", () => {
    expect(check({ "packages/cli/src/main.ts": `import("./commands/" + process.argv[2]);` })).toEqual([
      "packages/cli/src/main.ts: computed imports are not allowed",
    ]);
  });
});

describe("a cycle", () => {
  const store = (name: string) => `packages/server/src/store/${name}.ts`;

  it("of a file with itself is reported", () => {
    expect(check({ [store("a")]: `import "./a.ts";` })).toEqual([`cycle: ${store("a")} -> ${store("a")}`]);
  });

  it("of two files is reported once, also for type imports", () => {
    const files = { [store("b")]: `import type { A } from "./a.ts";`, [store("a")]: `import "./b.ts";` };
    expect(check(files)).toEqual([`cycle: ${store("a")} -> ${store("b")} -> ${store("a")}`]);
  });

  it("of three files is reported when a file outside it comes first", () => {
    const files = {
      [store("outside")]: `import "./c.ts";`,
      [store("a")]: `import "./b.ts";`,
      [store("b")]: `import "./c.ts";`,
      [store("c")]: `import "./a.ts";`,
    };
    expect(check(files)).toEqual([`cycle: ${store("a")} -> ${store("b")} -> ${store("c")} -> ${store("a")}`]);
  });

  it("is not reported for two paths to one file", () => {
    const files = {
      [store("a")]: `import "./b.ts"; import "./c.ts";`,
      [store("b")]: `import "./c.ts";`,
      [store("c")]: "",
    };
    expect(check(files)).toEqual([]);
  });
});

describe("process.env", () => {
  it.each([
    `export const port = process.env.PORT;`,
    `export const port = process["env"].PORT;`,
    `export const port = globalThis.process.env.PORT;`,
    `const { env } = process;`,
    `import { env } from "node:process";`,
    `import process from "node:process";`,
  ])("is reported outside the allowed units: %s", (text) => {
    expect(check({ "packages/server/src/api/app.ts": text })).toEqual([
      "packages/server/src/api/app.ts: only server/config and cli may read process.env",
    ]);
  });

  it("may be mentioned in comments and strings", () => {
    const text = `// not process.env\nconst text = "process.env"; process.exit(Number(text));`;
    expect(check({ "packages/server/src/api/app.ts": text })).toEqual([]);
  });
});

describe("a package", () => {
  it("for browsers must not import Node modules", () => {
    expect(check({ "packages/contract/src/run.ts": `import { readFileSync } from "node:fs";` })).toEqual([
      "packages/contract/src/run.ts: contract runs in browsers and must not import node:fs",
    ]);
  });

  it("contract may import only zod", () => {
    expect(check({ "packages/contract/src/run.ts": `import fastify from "fastify";` })).toEqual([
      "packages/contract/src/run.ts: contract must not import fastify",
    ]);
  });

  it("must declare what it imports", () => {
    const files = {
      "packages/server/src/store/db.ts": `import postgres from "postgres"; import "@scope/thing/part";`,
      "packages/cli/src/main.ts": `import type { Run } from "@outrider/contract/run";`,
    };
    expect(check(files)).toEqual([
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
        expect(check({}, { [path]: { [kind]: { some: version } } })).toEqual([
          `${path}: some must have an exact version, not ${version}`,
        ]);
      }
    },
  );

  it("may depend on an exact prerelease version", () => {
    expect(check({}, { "package.json": { devDependencies: { some: "18.4.0-beta.17" } } })).toEqual([]);
  });
});
