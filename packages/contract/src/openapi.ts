import type { z } from "zod";
import { type ErrorCode, errorEntry, Problem } from "./errors/error.ts";
import { Components } from "./openapi/components.ts";
import {
  headerComponents,
  isConditional,
  parameterComponents,
  requestHeaders,
  responseHeaders,
} from "./openapi/headers.ts";
import type { Json } from "./openapi/json-schema.ts";
import type { ResponseSpec, Route } from "./route.ts";
import { operations } from "./routes.ts";

/** Returns the errors that are not listed in `route.errors`, because all similar routes can return them. */
function commonErrors(route: Route): ErrorCode[] {
  const codes: ErrorCode[] = [
    "invalid_request",
    "authentication_required",
    "not_authorized",
    "not_acceptable",
    "payload_too_large",
    "rate_limited",
    "internal_error",
    "resource_unavailable",
  ];
  if (route.params) codes.push("resource_not_found");
  if (route.method !== "GET") codes.push("unsupported_media_type");
  if (route.method === "POST") codes.push("idempotency_in_flight", "idempotency_mismatch");
  return codes;
}

function parameters(route: Route, components: Components): Json[] {
  const parametersIn = (location: "path" | "query", shape: z.ZodObject | undefined) =>
    Object.entries(shape?.shape ?? {}).map(([name, member]) => {
      const { description, ...schema } = components.response(member as z.ZodType);
      return {
        name,
        in: location,
        required: location === "path",
        ...(description ? { description } : {}),
        ...(schema.type === "object" ? { style: "deepObject", explode: true } : {}),
        schema,
      };
    });
  return [
    ...parametersIn("path", route.params),
    ...parametersIn("query", route.query),
    ...requestHeaders(route).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

function headersOf(route: Route, status: number, own: Record<string, string> = {}): Json {
  const headers = [
    ...Object.entries(own).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
    ...responseHeaders(route, status).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  ];
  return headers.length > 0 ? { headers: Object.fromEntries(headers) } : {};
}

function contentOf({ schema, media = [], stream }: ResponseSpec, components: Components): Json {
  const text = { schema: { type: "string" } };
  const binary = { schema: { type: "string", format: "binary" } };
  const contentFor = (type: string) => (type === "application/octet-stream" ? binary : text);
  const types = [
    ...media.map((type) => [type, contentFor(type)]),
    ...(schema ? [["application/json", { schema: components.response(schema) }]] : []),
    ...(schema && stream ? [["text/event-stream", text]] : []),
  ];
  return types.length > 0 ? { content: Object.fromEntries(types) } : {};
}

function responses(route: Route, components: Components): Json {
  const result: Json = {};
  for (const [status, response] of Object.entries(route.responses)) {
    const { description, headers } = response;
    const content = contentOf(response, components);
    result[status] = { description, ...headersOf(route, Number(status), headers), ...content };
    if (response.ranges)
      result[206] = { description: "The requested part.", ...headersOf(route, 206), ...content };
  }
  if (isConditional(route)) {
    const description = "The content has not changed since the response with this `ETag`.";
    result[304] = { description, ...headersOf(route, 304) };
  }
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...commonErrors(route), ...route.errors]) {
    const status = errorEntry(code).status ?? 500;
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  for (const [status, codes] of byStatus) {
    result[status] = {
      description: codes.map((code) => `\`${code}\`: ${errorEntry(code).title}.`).join(" "),
      ...headersOf(route, status),
      content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Error" } } },
    };
  }
  return result;
}

function operation(operationId: string, route: Route, components: Components): Json {
  const { body, method } = route;
  return {
    operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description ? { description: route.description } : {}),
    ...(route.aliasOf ? { "x-alias-of": route.aliasOf } : {}),
    "x-scope": route.scope,
    parameters: parameters(route, components),
    ...(body
      ? {
          requestBody: {
            required: !body.safeParse({}).success,
            content: {
              "application/json": {
                schema: components.request(body, { nullsAllowed: method !== "PATCH" }),
              },
            },
          },
        }
      : {}),
    responses: responses(route, components),
  };
}

/** Builds the OpenAPI document from the routes and their schemas. */
export function openapi(version: string): Json {
  const components = new Components();
  components.response(Problem);
  const paths: Record<string, Json> = {};
  for (const [operationId, route] of operations) {
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operation(operationId, route, components),
    };
  }
  return components.resolve({
    openapi: "3.1.0",
    info: {
      title: "Outrider",
      version,
      summary: "Create, monitor, inspect, steer and cancel cloud agent runs.",
      description:
        "Errors use problem details (RFC 9457); `type` is the URL of a page that explains the error. Unknown fields and parameters are rejected. In a response, a field without a value is absent, never null. In a request body, null for an optional field means that the field is absent. PATCH is the exception: there, null clears the field. The only field that can be cleared is `mode` of a follow-up, which null resets to `auto`. All other fields reject null.",
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
      parameters: parameterComponents,
      headers: headerComponents,
    },
  });
}
