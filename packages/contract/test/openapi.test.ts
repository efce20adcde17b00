import { readFileSync } from "node:fs";
import { Ajv2020 as Ajv } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { errorTable } from "../src/errors/error.ts";
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
  test("matches the contract", () => {
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

  test("describes every operation and its responses", () => {
    for (const [operationId, { method, path }] of operations) {
      const operation = document.paths[path][method.toLowerCase()];
      expect(operation).toMatchObject({
        operationId,
        summary: expect.any(String),
        tags: [expect.any(String)],
      });
      for (const status of ["400", "401", "403", "429", "500", "503"])
        expect(operation.responses).toHaveProperty(status);
      for (const [status, { headers }] of Object.entries<{ headers?: object }>(operation.responses)) {
        if (Number(status) < 400 || status === "429")
          expect(Object.keys(headers ?? {})).toEqual(
            expect.arrayContaining(["RateLimit", "RateLimit-Policy"]),
          );
        if (status === "429" || status === "503") expect(headers).toHaveProperty("Retry-After");
      }
      for (const response of Object.values<object>(operation.responses)) {
        expect(response).toMatchObject({ description: expect.stringMatching(/\S/) });
      }
    }
  });

  /** Returns everything that a part of the document refers to, with that part. */
  // biome-ignore lint/suspicious/noExplicitAny: a document of any shape
  function reachable(part: any, seen = new Map<string, any>()): any[] {
    for (const { $ref } of nodes(part)) {
      if (typeof $ref !== "string" || !$ref.startsWith("#/components/schemas/") || seen.has($ref)) continue;
      const schema = schemas[$ref.split("/").at(-1) as string];
      seen.set($ref, schema);
      reachable(schema, seen);
    }
    return [part, ...seen.values()];
  }

  test("has no null in responses: a member without a value is absent", () => {
    for (const [, { method, path }] of operations) {
      const { responses } = document.paths[path][method.toLowerCase()];
      for (const part of reachable(responses)) {
        // Conditions such as `if` have no type. There, null means that a member is absent.
        for (const { type, properties = {} } of nodes(part)) {
          if (type !== "object") continue;
          for (const property of Object.values<{ type?: unknown; anyOf?: { type: string }[] }>(properties)) {
            expect([property.type].flat()).not.toContain("null");
            for (const variant of property.anyOf ?? []) expect(variant.type).not.toBe("null");
          }
        }
      }
    }
  });

  test("lets every optional member of a request be null, but in a PATCH only those that can be cleared", () => {
    const clearable = ["updateFollowup mode"];
    const ajv = new Ajv({ strict: false, validateFormats: false });
    ajv.addSchema(document, "openapi.json");
    let count = 0;
    for (const [operationId, { method, path }] of operations) {
      const { requestBody } = document.paths[path][method.toLowerCase()];
      if (!requestBody) continue;
      const { $ref } = requestBody.content["application/json"].schema;
      const { properties, required = [] } = schemas[$ref.split("/").at(-1) as string];
      for (const name of Object.keys(properties)) {
        const validateMember = ajv.compile({ $ref: `openapi.json${$ref}/properties/${name}` });
        const isNullable =
          method === "PATCH" ? clearable.includes(`${operationId} ${name}`) : !required.includes(name);
        expect(validateMember(null), `${operationId} ${name}`).toBe(isNullable);
        if (isNullable) count++;
      }
    }
    expect(count).toBeGreaterThan(20);
  });

  test("has no schema that code generators cannot read", () => {
    for (const node of nodes(document)) {
      for (const keyword of ["properties", "$defs"])
        for (const value of Object.values(node[keyword] ?? {})) expect(value).not.toBeTypeOf("boolean");
      for (const keyword of ["items", "not", "if", "then", "else"]) expect(node[keyword]).not.toBe(false);
      for (const keyword of ["anyOf", "oneOf", "allOf", "prefixItems"])
        expect([node[keyword]].flat()).not.toContain(false);
      if (typeof node.pattern === "string") expect(node.pattern).not.toMatch(/\\[pP]\{/);
    }
  });

  test.each([
    ["EnvironmentRepositoryInput", { url: "https://a.example/b", owner: null }, true],
    ["EnvironmentRepositoryInput", { url: "https://a.example/b", owner: "a" }, false],
    ["EnvironmentRepositoryInput", { url: null, owner: "a", repo: "b" }, true],
    ["EnvironmentRepositoryInput", { owner: "a" }, false],
    ["EnvironmentRepositoryInput", { owner: "a", repo: "b", ref: "a[b" }, false],
    ["EnvironmentRepositoryInput", { owner: "a", repo: "b", path: "a\tb" }, false],
    ["MCPServerConfigInput", { command: "a", args: ["b"], url: null }, true],
    ["MCPServerConfigInput", { command: "a", url: "https://a.example" }, false],
    ["MCPServerConfigInput", { url: "https://a.example", headers: {}, command: null, args: null }, true],
    ["MCPServerConfigInput", { url: "https://a.example", args: [] }, false],
    ["MCPServerConfigInput", { command: null }, false],
    ["MCPServerConfig", { url: "https://a.example" }, true],
    ["RunAgentRequest", {}, false],
    ["RunAgentRequest", { prompt: "a" }, true],
    ["RunAgentRequest", { config: { name: "a" } }, false],
    ["RunAgentRequest", { config: { skill_spec: "a/b:c" } }, true],
  ])("describes %s such that %j is valid: %s", (name, value, isValid) => {
    const ajv = new Ajv({ strict: false, validateFormats: false });
    ajv.addSchema(document, "openapi.json");
    expect(ajv.validate({ $ref: `openapi.json#/components/schemas/${name}` }, value)).toBe(isValid);
  });

  test("tells events apart by their type", () => {
    const { oneOf, discriminator } = schemas.RunEvent;
    expect(discriminator.propertyName).toBe("type");
    expect(Object.values(discriminator.mapping)).toEqual(oneOf.map(({ $ref }: { $ref: string }) => $ref));
    for (const [type, $ref] of Object.entries<string>(discriminator.mapping)) {
      expect(schemas[$ref.split("/").at(-1) as string].properties.type).toEqual({ const: type });
    }
  });

  test("allows unknown fields in responses but not in requests", () => {
    expect(schemas.RunItem.additionalProperties).toBeUndefined();
    expect(schemas.RunAgentRequest.additionalProperties).toBe(false);
    expect(schemas.AmbientAgentConfig.additionalProperties).toBe(false);
  });

  test("has no keywords that are specific to zod", () => {
    const text = JSON.stringify(document);
    expect(text).not.toContain("$defs");
    expect(text).not.toContain("__schema");
    expect(text).not.toContain(String(Number.MAX_SAFE_INTEGER));
  });

  test("has no fields of later versions", () => {
    const text = JSON.stringify(document);
    for (const later of ["parent_run_id", "SCHEDULED_AGENT"]) {
      expect(text).not.toContain(later);
    }
  });
});

test("every error has an HTTP status or can be the error of a run", () => {
  for (const [code, entry] of Object.entries<{ status?: number; onRun?: true }>(errorTable)) {
    expect(entry.status !== undefined || entry.onRun, code).toBe(true);
  }
});
