import { z } from "zod";
import { type ErrorCode, errorEntry, Problem } from "./error.ts";
import { limits } from "./limits.ts";
import type { Route } from "./route.ts";
import { operations } from "./routes.ts";

type Json = { [member: string]: unknown };

/** Errors that any call can answer with. */
function commonErrors(route: Route): ErrorCode[] {
  const codes: ErrorCode[] = [
    "invalid_request",
    "authentication_required",
    "not_authorized",
    "not_acceptable",
    "payload_too_large",
    "internal_error",
    "resource_unavailable",
  ];
  if (route.params) codes.push("resource_not_found");
  if (route.method !== "GET") codes.push("unsupported_media_type");
  if (route.method === "POST") codes.push("idempotency_in_flight", "idempotency_mismatch");
  return codes;
}

/** zod's JSON Schema, with components by name and without what only zod needs. */
function jsonSchema(schema: z.ZodType, io: "input" | "output", components: Json): Json {
  const {
    $schema,
    $defs = {},
    ...root
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "throw",
    override({ zodSchema, jsonSchema: node }) {
      const definition = zodSchema._zod.def as { type: string; catchall?: unknown };
      // Answers may grow new members within v1, so only what forbids them on purpose says so.
      if (definition.type === "object" && !definition.catchall) delete node.additionalProperties;
      if (node.format) delete node.pattern;
      if (node.const !== undefined) delete node.type;
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (definition.type === "record" && Object.keys(node.propertyNames ?? {}).join() === "type")
        delete node.propertyNames;
      delete node.id;
    },
  }) as Json;
  Object.assign(components, relinked($defs) as Json);
  const linked = relinked(root) as Json;
  const { id } = schema.meta() ?? {};
  if (!id) return linked;
  if (!linked.$ref) components[id] = linked;
  return { $ref: `#/components/schemas/${id}` };
}

function relinked(value: unknown): unknown {
  if (typeof value === "string") return value.replace(/^#\/\$defs\//, "#/components/schemas/");
  if (Array.isArray(value)) return value.map(relinked);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, relinked(inner)]));
}

/** A union of components that one constant member tells apart says which member and which values. */
function addDiscriminators(components: Record<string, Json>) {
  for (const union of Object.values(components)) {
    if (!Array.isArray(union.oneOf) || !union.oneOf.every((item) => item.$ref)) continue;
    const mapping = union.oneOf.map(({ $ref }) => {
      const variant = components[$ref.split("/").at(-1)] as { properties: { type: { const: string } } };
      return [variant.properties.type.const, $ref];
    });
    union.discriminator = { propertyName: "type", mapping: Object.fromEntries(mapping) };
  }
}

function parameters(route: Route, components: Json): Json[] {
  const of = (shape: z.ZodObject | undefined, place: "path" | "query") =>
    Object.entries(shape?.shape ?? {}).map(([name, member]) => {
      const { description, ...schema } = jsonSchema(member as z.ZodType, "output", components);
      return {
        name,
        in: place,
        required: place === "path",
        ...(description ? { description } : {}),
        ...(schema.type === "object" ? { style: "deepObject", explode: true } : {}),
        schema,
      };
    });
  const headers: Json[] = [];
  if (route.method === "POST") headers.push({ $ref: "#/components/parameters/IdempotencyKey" });
  if (Object.values(route.answers).some((answer) => answer.stream === "resumable")) {
    headers.push({ $ref: "#/components/parameters/LastEventId" });
  }
  return [...of(route.params, "path"), ...of(route.query, "query"), ...headers];
}

function responses(route: Route, components: Json): Json {
  const result: Json = {};
  for (const [status, answer] of Object.entries(route.answers)) {
    const headers = Object.entries(answer.headers ?? {}).map(([name, description]) => [
      name,
      { description, schema: { type: "string" } },
    ]);
    result[status] = {
      description: answer.description,
      ...(headers.length ? { headers: Object.fromEntries(headers) } : {}),
      ...(answer.media
        ? {
            content: Object.fromEntries(answer.media.map((media) => [media, { schema: { type: "string" } }])),
          }
        : {}),
      ...(answer.schema
        ? {
            content: {
              "application/json": { schema: jsonSchema(answer.schema, "output", components) },
              ...(answer.stream ? { "text/event-stream": { schema: { type: "string" } } } : {}),
            },
          }
        : {}),
    };
  }
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...commonErrors(route), ...route.errors]) {
    const status = errorEntry(code).status ?? 500;
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  for (const [status, codes] of byStatus) {
    result[status] = {
      description: codes.map((code) => `\`${code}\`: ${errorEntry(code).title}.`).join(" "),
      content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Error" } } },
    };
  }
  return result;
}

function operation(operationId: string, route: Route, components: Json): Json {
  return {
    operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description ? { description: route.description } : {}),
    ...(route.aliasOf ? { "x-alias-of": route.aliasOf } : {}),
    "x-scope": route.scope,
    parameters: parameters(route, components),
    ...(route.body
      ? {
          requestBody: {
            required: !route.body.safeParse({}).success,
            content: { "application/json": { schema: jsonSchema(route.body, "input", components) } },
          },
        }
      : {}),
    responses: responses(route, components),
  };
}

/** `openapi.json`, written from the routes and their schemas. */
export function openapi(version: string): Json {
  const schemas: Record<string, Json> = {};
  jsonSchema(Problem, "output", schemas);
  const paths: Record<string, Json> = {};
  for (const [operationId, route] of operations) {
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operation(operationId, route, schemas),
    };
  }
  addDiscriminators(schemas);
  return {
    openapi: "3.1.0",
    info: {
      title: "Outrider",
      version,
      summary: "Create, monitor, inspect, steer and cancel cloud agent runs.",
      description:
        "Every error is a problem (RFC 9457) whose `type` is a page that explains it. Unknown members and parameters are refused, never ignored. A member without a value is absent, never null.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/api/v1" }],
    security: [{ key: [] }],
    tags: [...new Set(operations.map(([, { tag }]) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "An API key: `orp_…` or `ora_…`." },
      },
      parameters: {
        IdempotencyKey: {
          name: "Idempotency-Key",
          in: "header",
          description: "Makes a retry safe: the same key and body get the first answer again, for 24 hours.",
          schema: { type: "string", pattern: "^[!-~]+$", maxLength: limits.idempotency.keyCharacters },
        },
        LastEventId: {
          name: "Last-Event-ID",
          in: "header",
          description: "Stream only: the last `seq` that the client has.",
          schema: { type: "string", pattern: "^[0-9]{0,9}$" },
        },
      },
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}
