import { readFileSync } from "node:fs";
import { Outrider } from "@outrider/sdk";
import { describe, expect, test } from "vitest";
import { additions, operations, streams } from "./operations.ts";
import { pythonOffers } from "./python.ts";

const document = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8"));

interface Operation {
  operationId: string;
  responses: Record<string, { content?: Record<string, unknown> }>;
}

const documented = Object.values(document.paths as Record<string, Record<string, Operation>>).flatMap(
  (path) => Object.values(path),
);

/** The methods of a client, as `resource.method` in snake case. */
const clients: Record<string, () => string[] | Promise<string[]>> = {
  TypeScript: typescript,
  Python: pythonOffers,
};

function typescript(): string[] {
  const client = new Outrider({ apiKey: "none" });
  return Object.entries(client).flatMap(([resource, value]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(value))
      .filter((name) => name !== "constructor")
      .map((name) => `${resource}.${name}`.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
  );
}

describe("operations table", () => {
  test("lists exactly the operations of openapi.json", () => {
    const ids = documented.map(({ operationId }) => operationId);
    expect(ids.length).toBeGreaterThan(30);
    expect(Object.keys(operations).sort()).toEqual(ids.sort());
  });

  test("lists every resumable stream", () => {
    const resumable = documented.filter(({ responses }) => responses["204"] && responses["200"]?.content);
    expect(Object.keys(streams).sort()).toEqual(resumable.map(({ operationId }) => operationId).sort());
  });
});

describe.each(Object.entries(clients))("the %s client", (_, offers) => {
  const wanted = [...Object.values(operations), ...Object.values(streams), ...additions];

  test("has every operation", async () => {
    const offered = new Set(await offers());
    expect(wanted.filter((name) => !offered.has(name))).toEqual([]);
  });

  test("has no methods beyond the table", async () => {
    expect((await offers()).filter((name) => !wanted.includes(name))).toEqual([]);
  });
});
