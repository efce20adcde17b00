import { APIStatusError, Outrider } from "@outrider/sdk";
import type { Behavior, Call, Outcome } from "./behavior.ts";
import type { Seen } from "./fault-proxy.ts";

/** Input of a test driver. Drivers in other languages read it as JSON from stdin. */
export interface DriverInput {
  /** The origin of the server itself. */
  server: string;
  /** The origin of the fault proxy before it. */
  proxy: string;
  key: string;
  /** Values to which calls refer as `$name.field`, like those that calls save. */
  given: Record<string, unknown>;
  behaviors: Behavior[];
}

/** Runs the behaviors with the TypeScript SDK, one at a time. */
export async function runTypescript({
  server,
  proxy,
  key,
  given,
  behaviors,
}: DriverInput): Promise<Outcome[]> {
  const direct = new Outrider({ apiKey: key, baseURL: `${server}/api/v1`, logLevel: "off" });
  const client = new Outrider({ apiKey: key, baseURL: `${proxy}/api/v1`, logLevel: "off" });
  const outcomes: Outcome[] = [];
  for (const { name, before = [], faults, call, after = [] } of behaviors) {
    const saved = new Map<string, unknown>([
      ...Object.entries(given),
      ["unique", { id: crypto.randomUUID() }],
    ]);
    const values: unknown[] = [];
    let result: Pick<Outcome, "value" | "error"> = {};
    let elapsed_ms = 0;
    try {
      for (const each of before) await make(direct, each, saved);
      await fetch(`${proxy}/__proxy/faults`, {
        method: "PUT",
        body: JSON.stringify(resolved(faults, saved)),
      });
      const began = performance.now();
      result = await make(client, call, saved).then((value) => ({ value }), failure);
      elapsed_ms = performance.now() - began;
      for (const each of after) values.push(await make(direct, each, saved));
    } catch (error) {
      throw new Error(`The table itself is wrong at "${name}".`, { cause: error });
    }
    const seen = (await (await fetch(`${proxy}/__proxy/seen`)).json()) as Seen[];
    const keys = new Set(seen.flatMap(({ headers }) => headers["idempotency-key"] ?? []));
    outcomes.push({
      name,
      ...result,
      requests: seen.length,
      idempotency_keys: keys.size,
      ...(values.length > 0 ? { after: values } : {}),
      elapsed_ms,
    });
  }
  return outcomes;
}

function failure(error: unknown): Pick<Outcome, "error"> {
  const name = (error as Error).name;
  if (!(error instanceof APIStatusError)) return { error: { class: name } };
  return { error: { class: name, status: error.status, ...(error.code ? { code: error.code } : {}) } };
}

/** Selects the part of a value that belongs to the outcome. */
async function make(client: Outrider, written: Call, saved: Map<string, unknown>): Promise<unknown> {
  const call = resolved(written, saved) as Call;
  const value = await outcomeOf(call, start(client, call));
  if (call.save) saved.set(call.save, value);
  const { show } = call;
  if (!show) return null;
  return Array.isArray(value) ? value.map((each) => shown(each, show)) : shown(value, show);
}

/** Replaces `$name.member` with saved values. */
function resolved(value: unknown, saved: Map<string, unknown>): unknown {
  if (typeof value === "string")
    return value.replaceAll(/\$(\w+)\.([\w.]*\w)/g, (_, name: string, member: string) =>
      String(memberOf(saved.get(name), member)),
    );
  if (Array.isArray(value)) return value.map((each) => resolved(each, saved));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolved(each, saved)]));
}

type Method = (...given: unknown[]) => unknown;

function start(client: Outrider, { resource, method, args = [], body, query, options = {} }: Call): unknown {
  const { timeout_ms: timeout, max_retries: maxRetries, idempotency_key: idempotencyKey, headers } = options;
  const own = Object.fromEntries(
    Object.entries({ timeout, maxRetries, idempotencyKey, headers }).filter(([, each]) => each !== undefined),
  );
  const name = method.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const clients = client as unknown as Record<string, Record<string, Method>>;
  const home = (resource === "client" ? clients : clients[resource]) as Record<string, Method>;
  const call = (...given: unknown[]) => home[name]?.call(home, ...args, ...given);
  if (resource === "client") return call({ ...own, ...(body ? { body } : {}), ...(query ? { query } : {}) });
  // Streams take the query as options. Lists, `transcript` and calls with a body take it before the options.
  if (method === "stream") return call({ ...query, ...own });
  if (method === "transcript") return call(query?.format, own);
  const takesQuery = method === "list" && ["runs", "events"].includes(resource);
  const queries = ["builds.events", "forges.repositories"];
  if (takesQuery || queries.includes(`${resource}.${method}`)) return call(query, own);
  return body === undefined ? call(own) : call(body, own);
}

async function outcomeOf({ raw, collect }: Call, started: unknown): Promise<unknown> {
  if (raw) {
    const response = await (started as ReturnType<Outrider["get"]>).asResponse();
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    };
  }
  if (collect !== undefined) {
    const items: unknown[] = [];
    for await (const item of started as AsyncIterable<unknown>) if (items.push(item) >= collect) break;
    return items;
  }
  const value = await started;
  if (typeof value === "string") return { text: value };
  if (value instanceof Uint8Array) return { size: value.length };
  return (value as { body?: unknown } | undefined)?.body ?? value ?? {};
}

function shown(value: unknown, members: string[]): unknown {
  const pairs = members.map((name) => [name, memberOf(value, name)] as const);
  return Object.fromEntries(pairs.filter(([, member]) => member !== undefined));
}

function memberOf(value: unknown, name: string): unknown {
  return name.split(".").reduce((part, key) => (part as Record<string, unknown> | undefined)?.[key], value);
}
