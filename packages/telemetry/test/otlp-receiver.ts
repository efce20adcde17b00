import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { type Decoded, decode, type Message } from "./protobuf.ts";

/** Test support: a collector that speaks OTLP/HTTP with protobuf and keeps what it receives. */

export interface ReceivedSpan {
  service: string;
  name: string;
  kind: "internal" | "server" | "client" | "producer" | "consumer";
  traceId: string;
  spanId: string;
  parentId: string | undefined;
  tracestate: string;
  start: bigint;
  end: bigint;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  isFailed: boolean;
}

export interface ReceivedLog {
  service: string;
  body: string;
  severity: string;
  traceId: string | undefined;
  attributes: Record<string, unknown>;
}

export interface ReceivedMetric {
  service: string;
  name: string;
  type: "gauge" | "sum" | "histogram";
  // biome-ignore lint/suspicious/noExplicitAny: points have a different shape for each type
  points: (Record<string, any> & { attributes: Record<string, unknown> })[];
}

const anyValue: Message = {
  1: ["value", "string"],
  2: ["value", "bool"],
  3: ["value", "varint"],
  4: ["value", "double"],
  5: ["list", () => ({ 1: ["values", anyValue, "repeated"] })],
};
const attributes: Message[number] = [
  "attributes",
  { 1: ["key", "string"], 2: ["value", anyValue] },
  "repeated",
];
const resource: Message = { 1: attributes };
const link: Message = { 1: ["traceId", "hex"], 2: ["spanId", "hex"] };
const span: Message = {
  ...{ 1: ["traceId", "hex"], 2: ["spanId", "hex"], 3: ["tracestate", "string"], 4: ["parentId", "hex"] },
  ...{ 5: ["name", "string"], 6: ["kind", "varint"], 7: ["start", "fixed64"], 8: ["end", "fixed64"] },
  ...{ 9: attributes, 13: ["links", link, "repeated"], 15: ["status", { 3: ["code", "varint"] }] },
};
const logRecord: Message = {
  ...{ 3: ["severity", "string"], 5: ["body", anyValue], 6: attributes, 9: ["traceId", "hex"] },
};
const number: Message = { 7: attributes, 4: ["value", "double"], 6: ["value", "sfixed64"] };
const histogram: Message = {
  ...{ 9: attributes, 4: ["count", "fixed64"], 5: ["sum", "double"] },
  ...{ 6: ["buckets", "fixed64s"], 7: ["boundaries", "doubles"] },
};
const metric: Message = {
  1: ["name", "string"],
  5: ["gauge", { 1: ["points", number, "repeated"] }],
  7: ["sum", { 1: ["points", number, "repeated"] }],
  9: ["histogram", { 1: ["points", histogram, "repeated"] }],
};
/** Requests of all signals have the same structure. */
const request = (item: Message): Message => ({
  1: [
    "resources",
    { 1: ["resource", resource], 2: ["scopes", { 2: ["items", item, "repeated"] }, "repeated"] },
    "repeated",
  ],
});
const requests = { traces: request(span), metrics: request(metric), logs: request(logRecord) };
const kinds = ["internal", "internal", "server", "client", "producer", "consumer"] as const;

export async function startReceiver() {
  const spans: ReceivedSpan[] = [];
  const metrics: ReceivedMetric[] = [];
  const logs: ReceivedLog[] = [];
  const headers: Record<string, string | string[] | undefined>[] = [];
  const receiver = {
    url: "",
    spans,
    metrics,
    logs,
    /** The headers of all requests. */
    headers,
    /** The status of the next responses. */
    status: 200,
    /** Returns the spans of a run, in any trace. */
    spansOf: (runId: string) => {
      const own = spans.filter(({ attributes: { "outrider.run.id": id } }) => id === runId);
      const traces = new Set(own.map(({ traceId }) => traceId));
      return spans.filter(({ traceId }) => traces.has(traceId));
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer(async (incoming, response) => {
    const body = await buffer(incoming);
    headers.push(incoming.headers);
    const signal = /^\/v1\/(traces|metrics|logs)$/.exec(incoming.url ?? "")?.[1] as keyof typeof requests;
    const isRight = signal && incoming.headers["content-type"] === "application/x-protobuf";
    if (receiver.status !== 200 || !isRight)
      return void response.writeHead(isRight ? receiver.status : 400).end();
    const bytes = incoming.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    for (const { resource: from, scopes } of decode(bytes, requests[signal]).resources) {
      const service = String(toRecord(from.attributes)["service.name"]);
      const items: Decoded[] = scopes.flatMap((scope: Decoded) => scope.items);
      if (signal === "traces") spans.push(...items.map((item) => toSpan(item, service)));
      else if (signal === "logs") logs.push(...items.map((item) => toLog(item, service)));
      else metrics.push(...items.flatMap((item) => toMetric(item, service)));
    }
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** Describes spans as a tree, one line each, such as `  service: name`. */
export function treeOf(spans: ReceivedSpan[], parentId?: string, indent = ""): string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const children = spans.filter((child) =>
    parentId === undefined ? !ids.has(child.parentId ?? "") : child.parentId === parentId,
  );
  return children
    .toSorted((first, second) => Number(first.start - second.start))
    .flatMap(({ service, name, spanId }) => [
      `${indent}${service}: ${name}`,
      ...treeOf(spans, spanId, `${indent}  `),
    ]);
}

function toSpan(
  { kind, parentId, links, status, attributes: own, ...rest }: Decoded,
  service: string,
): ReceivedSpan {
  return {
    tracestate: "",
    ...rest,
    service,
    kind: kinds[kind] ?? "internal",
    parentId: parentId || undefined,
    attributes: toRecord(own),
    links,
    isFailed: status?.code === 2,
  };
}

function toLog({ body, severity, traceId, attributes: own }: Decoded, service: string): ReceivedLog {
  return {
    service,
    body: body?.value ?? "",
    severity,
    traceId: traceId || undefined,
    attributes: toRecord(own),
  };
}

function toMetric({ name, ...data }: Decoded, service: string): ReceivedMetric[] {
  return (["gauge", "sum", "histogram"] as const).flatMap((type) => {
    if (!data[type]) return [];
    const points = data[type].points.map((point: Decoded) => ({
      ...point,
      attributes: toRecord(point.attributes),
    }));
    return [{ service, name, type, points }];
  });
}

function toRecord(pairs: Decoded[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map(({ key, value }) => [
      key,
      value?.list ? value.list.values.map((item: Decoded) => item.value) : value?.value,
    ]),
  );
}
