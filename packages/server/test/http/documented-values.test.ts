import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

/** Compares the query parameters in openapi.json with the server. */

interface Schema {
  $ref?: string;
  enum?: string[];
  items?: Schema;
}
interface Parameter {
  name: string;
  in: string;
  schema: Schema;
}

const document = JSON.parse(readFileSync(new URL("../../../../openapi.json", import.meta.url), "utf8"));

/** Returns the values that a schema, or the items of its list, can have. */
function valuesOf({ $ref, enum: values, items }: Schema): string[] {
  if ($ref) return valuesOf(document.components.schemas[$ref.split("/").at(-1) as string]);
  return values ?? (items ? valuesOf(items) : []);
}

const filters = Object.entries<Record<string, { parameters: Parameter[] }>>(document.paths).flatMap(
  ([path, { get }]) =>
    (get?.parameters ?? [])
      .filter((parameter) => parameter.in === "query" && valuesOf(parameter.schema).length > 0)
      .map(({ name, schema }) => ({ path, name, values: valuesOf(schema) })),
);

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

test("there are filters with a list of values", () => {
  expect(filters.map(({ name }) => name)).toEqual(expect.arrayContaining(["state", "source"]));
});

describe.each(filters)("$name of $path", ({ path, name, values }) => {
  test.each(values)("accepts %s", async (value) => {
    expect((await server.call("GET", `${path}?${name}=${value}`)).status).toBe(200);
  });

  test.each(["nonsense", values[0]?.toLowerCase() === values[0] ? "X" : `${values[0]?.toLowerCase()}`])(
    "rejects %s and lists the values",
    async (value) => {
      const { status, body } = await server.call("GET", `${path}?${name}=${value}`);
      const listed = values.map((each) => `\`${each}\``).join(", ");
      const message = `must be ${values.length > 1 ? "one of " : ""}${listed}`;
      expect([status, body.errors[0].message]).toEqual([400, message]);
    },
  );
});
