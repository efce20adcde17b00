import { Ajv, type ValidateFunction } from "ajv";
import { readGitHubDescription } from "./github-description.ts";

/*
 * Checks requests and responses with the OpenAPI description that GitHub publishes. Only the operations that are used
 * are compiled.
 */

// biome-ignore lint/suspicious/noExplicitAny: the description has every shape
type Json = any;

let loaded: Json;

function description(): Json {
  loaded ??= JSON.parse(readGitHubDescription());
  return loaded;
}

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
const compiled = new Map<string, ValidateFunction>();

export interface GitHubOperation {
  method: string;
  /** The path of the description, such as `/repos/{owner}/{repo}`. */
  path: string;
  params: Record<string, string>;
}

/** Finds the operation of a request, or returns undefined if GitHub's API has none. */
export function findOperation(method: string, pathname: string): GitHubOperation | undefined {
  const candidates = Object.keys(description().paths)
    .filter((path) => description().paths[path][method.toLowerCase()])
    .map((path) => ({ path, match: patternOf(path).exec(pathname) }))
    .filter(({ match }) => match !== null)
    // A path with fewer parameters is more specific.
    .sort((a, b) => a.path.split("{").length - b.path.split("{").length || b.path.length - a.path.length);
  const [found] = candidates;
  if (!found) return undefined;
  const names = [...found.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  const params = Object.fromEntries(
    names.map((name, index) => [name, decodeURIComponent(found.match?.[index + 1] ?? "")]),
  );
  return { method: method.toLowerCase(), path: found.path, params };
}

const patterns = new Map<string, RegExp>();

function patternOf(path: string): RegExp {
  const known = patterns.get(path);
  if (known) return known;
  // Refs and file paths may contain slashes.
  const source = path
    .replace(/[.+]/g, "\\$&")
    .replace(/\{(\w+)\}/g, (_, name) => (name === "ref" || name === "path" ? "(.+?)" : "([^/]+)"));
  const pattern = new RegExp(`^${source}$`);
  patterns.set(path, pattern);
  return pattern;
}

/** Returns what is wrong with a request. */
export function checkRequest(
  { method, path }: GitHubOperation,
  { query, body }: { query: URLSearchParams; body: unknown },
): string[] {
  const operation = description().paths[path][method];
  const parameters: Json[] = (operation.parameters ?? []).map(resolve);
  const problems: string[] = [];
  for (const [name, value] of query) {
    const parameter = parameters.find((item) => item.in === "query" && item.name === name);
    if (!parameter) problems.push(`${method} ${path}: unknown query parameter ${name}`);
    else {
      const isNumber = resolve(parameter.schema).type === "integer";
      problems.push(
        ...check(`${method} ${path} ?${name}`, parameter.schema, isNumber ? Number(value) : value),
      );
    }
  }
  const schema = operation.requestBody && resolve(operation.requestBody).content["application/json"]?.schema;
  if (body !== undefined && !schema) problems.push(`${method} ${path}: has no request body`);
  if (schema && (body !== undefined || resolve(operation.requestBody).required))
    problems.push(...check(`${method} ${path} request`, schema, body));
  return problems;
}

/** Returns what is wrong with a response. */
export function checkResponse(
  { method, path }: GitHubOperation,
  { status, body }: { status: number; body?: unknown },
): string[] {
  const operation = description().paths[path][method];
  const documented = operation.responses[status];
  // Errors of authentication, rate limits and servers can happen everywhere.
  if (!documented && [401, 403, 404, 429, 500, 502, 503].includes(status)) return [];
  if (!documented) return [`${method} ${path}: status ${status} is not documented`];
  const schema = resolve(documented).content?.["application/json"]?.schema;
  // The description omits the body of some errors.
  if (!schema && status >= 400) return [];
  if (!schema) return body === undefined ? [] : [`${method} ${path} ${status}: must have no body`];
  return check(`${method} ${path} ${status}`, schema, body);
}

/** Returns the published example of a response, to be filled with a test's own values. */
export function exampleOf(path: string, method: string, status: number): Json {
  const response = resolve(description().paths[path][method].responses[status]);
  const [example] = Object.values(response.content["application/json"].examples) as Json[];
  return structuredClone(resolve(example).value);
}

function check(what: string, schema: Json, value: unknown): string[] {
  const validate = compiled.get(what) ?? ajv.compile(standalone(schema));
  compiled.set(what, validate);
  if (validate(value)) return [];
  return (validate.errors ?? [])
    .slice(0, 10)
    .map((error) => `${what}: ${error.instancePath} ${error.message}`);
}

function resolve(value: Json): Json {
  if (typeof value?.$ref !== "string") return value;
  const target = value.$ref
    .slice(2)
    .split("/")
    .reduce(
      (node: Json, key: string) => node[key.replaceAll("~1", "/").replaceAll("~0", "~")],
      description(),
    );
  return resolve(target);
}

/** Converts a schema of OpenAPI 3.0 to JSON Schema, together with the schemas that it refers to. */
function standalone(schema: Json): Json {
  const definitions: Record<string, Json> = {};
  const convert = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(convert);
    if (typeof node !== "object" || node === null) return node;
    if (typeof node.$ref === "string") {
      const name = node.$ref.split("/").at(-1) as string;
      if (!(name in definitions)) {
        definitions[name] = true;
        definitions[name] = convert(resolve(node));
      }
      return { $ref: `#/definitions/${name}` };
    }
    const { nullable, example, examples, discriminator, ...rest } = node;
    const converted = Object.fromEntries(
      Object.entries(rest).map(([key, value]) => [
        key,
        // The names of properties are not keywords.
        key === "properties"
          ? Object.fromEntries(Object.entries(value as Json).map(([name, item]) => [name, convert(item)]))
          : key === "enum" || key === "default"
            ? value
            : convert(value),
      ]),
    );
    return nullable === true ? { anyOf: [{ type: "null" }, converted] } : converted;
  };
  const root = convert(schema);
  return { ...root, definitions };
}
