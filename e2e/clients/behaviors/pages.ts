import type { Behavior, Call } from "../behavior.ts";

const body = (title: string) => ({ prompt: "SAY: x", title, metadata: { mark: "$unique.id" } });
const list: Call = {
  resource: "runs",
  method: "list",
  query: { metadata: { mark: "$unique.id" }, limit: 2 },
  collect: 100,
  show: ["title"],
};
const meanwhile = {
  kind: "meanwhile",
  request: { method: "POST", path: "/api/v1/agent/run", body: body("new") },
  times: 3,
  path: "/agent/runs?",
} as const;
const titles = ["5", "4", "3", "2", "1"].map((title) => ({ title }));

/** Lists during concurrent writes. */
export const pages: Behavior[] = [
  {
    name: "a paginated list neither skips nor repeats runs while others are created",
    before: titles
      .toReversed()
      .map(({ title }) => ({ resource: "runs", method: "create", body: body(title) })),
    faults: [meanwhile],
    call: list,
    // Only the first run was created before the first page was read.
    expect: { value: [{ title: "new" }, ...titles], requests: 3, idempotency_keys: 0 },
  },
  {
    name: "retries a lost page and continues the list",
    before: titles
      .toReversed()
      .map(({ title }) => ({ resource: "runs", method: "create", body: body(title) })),
    faults: [
      { kind: "cut_body", after_bytes: 20, path: "cursor=" },
      { kind: "answer", status: 503, path: "cursor=" },
    ],
    call: list,
    expect: { value: titles, requests: 5, idempotency_keys: 0 },
  },
];
