import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { errorTable } from "../src/error.ts";
import { openapi } from "../src/openapi.ts";
import { operations } from "../src/routes.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
const document = openapi("0.0.0") as any;
const schemas = document.components.schemas;

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
function* nodes(value: any): Generator<any> {
  if (value === null || typeof value !== "object") return;
  yield value;
  for (const inner of Object.values(value)) yield* nodes(inner);
}

const specificationNames = [
  "RunAgentRequest",
  "RunAgentResponse",
  "ListRunsResponse",
  "RunItem",
  "PageInfo",
  "RunStatusMessage",
  "RunCreatorInfo",
  "RunState",
  "RunSourceType",
  "RunFollowupRequest",
  "AmbientAgentConfig",
  "MCPServerConfig",
  "Error",
];

describe("openapi.json", () => {
  test("is what the contract writes", () => {
    const committed = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8"));
    expect(committed).toEqual(openapi(committed.info.version));
  });

  test.each([...specificationNames, "CloudEnvironment"])("has the specification's model %s", (name) => {
    expect(schemas).toHaveProperty(name);
  });

  test("has no reference that leads nowhere", () => {
    for (const { $ref } of nodes(document)) {
      if (typeof $ref !== "string") continue;
      const target = $ref
        .slice(2)
        .split("/")
        .reduce((place, step) => place?.[step], document);
      expect(target, $ref).toBeDefined();
    }
  });

  test("says of every operation what it is, and how it answers", () => {
    for (const [operationId, { method, path }] of operations) {
      const operation = document.paths[path][method.toLowerCase()];
      expect(operation).toMatchObject({
        operationId,
        summary: expect.any(String),
        tags: [expect.any(String)],
      });
      for (const status of ["400", "401", "403", "500", "503"])
        expect(operation.responses).toHaveProperty(status);
      for (const response of Object.values<object>(operation.responses)) {
        expect(response).toMatchObject({ description: expect.stringMatching(/\S/) });
      }
    }
  });

  test("has no null: a member without a value is absent", () => {
    for (const { type, anyOf = [] } of nodes(schemas)) {
      expect(type).not.toBe("null");
      if (Array.isArray(type)) expect(type).not.toContain("null");
      for (const variant of anyOf) expect(variant.type).not.toBe("null");
    }
  });

  test("tells events apart by their type", () => {
    const { oneOf, discriminator } = schemas.RunEvent;
    expect(discriminator.propertyName).toBe("type");
    expect(Object.values(discriminator.mapping)).toEqual(oneOf.map(({ $ref }: { $ref: string }) => $ref));
    for (const [type, $ref] of Object.entries<string>(discriminator.mapping)) {
      expect(schemas[$ref.split("/").at(-1) as string].properties.type).toEqual({ const: type });
    }
  });

  test("lets answers grow and requests not", () => {
    expect(schemas.RunItem.additionalProperties).toBeUndefined();
    expect(schemas.RunAgentRequest.additionalProperties).toBe(false);
    expect(schemas.AmbientAgentConfig.additionalProperties).toBe(false);
  });

  test("has no marks of the tool that wrote it", () => {
    const text = JSON.stringify(document);
    expect(text).not.toContain("$defs");
    expect(text).not.toContain("__schema");
    expect(text).not.toContain(String(Number.MAX_SAFE_INTEGER));
  });

  test("keeps what later versions will bring absent", () => {
    const text = JSON.stringify(document);
    for (const later of ["docker_image", "worker_host", "parent_run_id", 'harness"', "SCHEDULED_AGENT"]) {
      expect(text).not.toContain(later);
    }
  });
});

test("every error of a call has a status, and every other one can stand on a run", () => {
  for (const [code, entry] of Object.entries<{ status?: number; onRun?: true }>(errorTable)) {
    expect(entry.status !== undefined || entry.onRun, code).toBe(true);
  }
});
