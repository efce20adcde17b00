import { type BadRequest, get, invalid } from "./case.ts";

const list = (query: string) => get(`/agent/runs?${query}`);

const badValues: [query: string, pointer: string, says: string][] = [
  ["limit=0", "limit", "must be at least 1"],
  ["limit=501", "limit", "must be at most 500"],
  ["limit=-1", "limit", "must be an integer between 1 and 500"],
  ["limit=1.5", "limit", "must be an integer between 1 and 500"],
  ["limit=abc", "limit", "must be an integer between 1 and 500"],
  ["limit=", "limit", "must be an integer between 1 and 500"],
  ["limit=1e2", "limit", "must be an integer between 1 and 500"],
  ["limit=0x10", "limit", "must be an integer between 1 and 500"],
  ["limit=%20%205", "limit", "must be an integer between 1 and 500"],
  ["limit=99999999999999999999", "limit", "must be an integer between 1 and 500"],
  ["sort_by=state", "sort_by", "must be one of `created_at`, `updated_at`, `title`"],
  ["sort_order=up", "sort_order", "must be one of `desc`, `asc`"],
  ["state=DONE", "state[0]", "must be one of `QUEUED`"],
  ["state=QUEUED&state=queued", "state[1]", "must be one of `QUEUED`"],
  ["state=", "state[0]", "must be one of `QUEUED`"],
  ["source=SCHEDULED_AGENT", "source[0]", "must be one of `WEB_APP`"],
  ["environment_id=production", "environment_id[0]", "must be a UUID or `none`"],
  ["config_name=", "config_name[0]", "must not be empty"],
  ["name=", "name[0]", "must not be empty"],
  ["creator=", "creator[0]", "must not be empty"],
  ["created_after=yesterday", "created_after", "must be a timestamp such as"],
  ["created_after=2026-02-30", "created_after", "must be a timestamp such as"],
  ["created_after=2026-01-31T09:30:00", "created_after", "must be a timestamp such as"],
  ["created_before=2026-13-01", "created_before", "must be a timestamp such as"],
  ["created_before=9999-12-31T23:59:59-01:00", "created_before", "must be a timestamp such as"],
  ["created_before=0000-01-01", "created_before", "must be a timestamp such as"],
  ["updated_after=1767225600", "updated_after", "must be a timestamp such as"],
  ["q=", "q", "must not be empty"],
  [`q=${"x".repeat(257)}`, "q", "must have at most 256 characters, but has 257"],
  ["metadata[a%20b]=x", "metadata[a b]", "has an invalid name: it must be"],
  ["metadata[]=x", "metadata[]", "has an invalid name: it must be"],
  ["metadata[__proto__]=x", "metadata[__proto__]", "must not be named"],
  ["metadata=x", "metadata", "must be written as `metadata[key]=value`"],
  ["metadata=x&metadata[a]=1", "metadata", "must be written as `metadata[key]=value`"],
  ["metadata[a]=1&metadata=x", "metadata", "must be written as `metadata[key]=value`"],
  ["metadata[a]=1&metadata[a]=1", "metadata[a]", "must not be repeated"],
  [`metadata[a]=${"x".repeat(257)}`, "metadata[a]", "must have at most 256 bytes, but has 257"],
  [
    `${Array.from({ length: 6 }, (_, index) => `metadata[k${index}]=x`).join("&")}`,
    "metadata",
    "at most 5 pairs",
  ],
  [Array.from({ length: 101 }, () => "name=x").join("&"), "name", "must have at most 100"],
  ["limit=5&limit=5", "limit", "must not be repeated"],
  ["q=a&q=b", "q", "must not be repeated"],
  ["sort_by=title&sort_by=title", "sort_by", "must not be repeated"],
  ["created_after=2026-01-01&created_after=2026-01-02", "created_after", "must not be repeated"],
];

const unknownParameters: [query: string, pointer: string, says: string][] = [
  ["colour=red", "colour", "is unknown"],
  ["stat=QUEUED", "stat", "did you mean `state`?"],
  ["Limit=5", "Limit", "did you mean `limit`?"],
  ["state[]=QUEUED", "state[]", "did you mean `state`?"],
  ["offset=5", "offset", "is unknown"],
  ["=5", "", "is unknown"],
  ["__proto__=x", "__proto__", "is unknown"],
  ["constructor=x", "constructor", "is unknown"],
  ["toString=x", "toString", "is unknown"],
  ["constructor[a]=x", "constructor[a]", "is unknown"],
  ["limit[a]=5", "limit[a]", "is unknown"],
];

const unreadable: [query: string, says: string][] = [
  ["q=%", "not valid UTF-8"],
  ["q=%zz", "not valid UTF-8"],
  ["q=%ff", "not valid UTF-8"],
  ["q=%ed%a0%80", "not valid UTF-8"],
  ["%ff=x", "not valid UTF-8"],
  ["q=a%00b", "must not contain a NUL"],
  ["config_name=%00", "must not contain a NUL"],
  ["a%00b=x", "must not contain a NUL"],
  ["metadata[%00]=x", "must not contain a NUL"],
];

const cursors: BadRequest[] = [
  invalid("a cursor that is a word", list("cursor=abc"), { pointer: "cursor", says: "is not a cursor" }),
  invalid("a forged cursor", list("limit=1&cursor=bm90LWEtY3Vyc29y"), {
    pointer: "cursor",
    says: "is not a cursor",
  }),
  invalid("a cursor that is no base64", list("limit=1&cursor=%C3%A9%C3%A9%C3%A9"), {
    pointer: "cursor",
    says: "is not a cursor",
  }),
  invalid("an empty cursor", list("limit=1&cursor="), { pointer: "cursor", says: "must not be empty" }),
  invalid("a cursor of 2,049 characters", list(`cursor=${"A".repeat(2_049)}`), { pointer: "cursor" }),
  invalid("a truncated cursor", ({ cursor }) => list(`cursor=${cursor.slice(0, -4)}`), {
    pointer: "cursor",
  }),
  invalid("a cursor with one bit changed", ({ cursor }) => list(`cursor=${flipped(cursor)}`), {
    pointer: "cursor",
  }),
  invalid("a cursor with something behind it", ({ cursor }) => list(`cursor=${cursor}!`), {
    pointer: "cursor",
  }),
  invalid("a cursor of a query without filters", ({ cursor }) => list(`state=QUEUED&cursor=${cursor}`), {
    pointer: "cursor",
    says: "belongs to a different query",
  }),
  invalid("a cursor of another sort", ({ cursor }) => list(`sort_by=title&cursor=${cursor}`), {
    pointer: "cursor",
  }),
  invalid("a cursor of another order", ({ cursor }) => list(`sort_order=asc&cursor=${cursor}`), {
    pointer: "cursor",
  }),
  invalid(
    "a cursor of a caller with access to more runs",
    ({ cursor, key }) => ({ ...list(`cursor=${cursor}`), key: key.agent }),
    { pointer: "cursor" },
  ),
  invalid("a cursor twice", ({ cursor }) => list(`cursor=${cursor}&cursor=${cursor}`), {
    pointer: "cursor",
    says: "must not be repeated",
  }),
];

function flipped(cursor: string): string {
  const bytes = Buffer.from(cursor, "base64url");
  bytes[20] = (bytes[20] as number) ^ 1;
  return bytes.toString("base64url");
}

const events = (runId: string, query: string) => get(`/agent/runs/${runId}/events?${query}`);

const otherCalls: BadRequest[] = [
  invalid("events after -1", ({ run }) => events(run.queued, "after=-1"), { pointer: "after" }),
  invalid("events after 2^31", ({ run }) => events(run.queued, "after=2147483648"), { pointer: "after" }),
  invalid("1,001 events a page", ({ run }) => events(run.queued, "limit=1001"), { pointer: "limit" }),
  invalid("a filter for events", ({ run }) => events(run.queued, "type=run.created"), { pointer: "type" }),
  invalid(
    "pages of a stream",
    ({ run }) => ({ ...events(run.queued, "limit=5"), headers: { accept: "text/event-stream" } }),
    { pointer: "limit", says: "cannot be used with a stream" },
  ),
  invalid("a parameter for one run", ({ run }) => get(`/agent/runs/${run.queued}?fields=title`), {
    pointer: "fields",
    says: "takes no query parameters",
  }),
  invalid(
    "a parameter for create",
    { method: "POST", path: "/agent/run?dry=1", body: { prompt: "x" } },
    {
      pointer: "dry",
    },
  ),
  invalid("a parameter for the list of models", get("/agent/models?limit=5"), { pointer: "limit" }),
];

export const queryCases: BadRequest[] = [
  ...badValues.map(([query, pointer, says]) =>
    invalid(`the query ${query.slice(0, 60)}`, list(query), { pointer, says }),
  ),
  ...unknownParameters.map(([query, pointer, says]) =>
    invalid(`the unknown parameter ${query}`, list(query), { pointer, says }),
  ),
  ...unreadable.map(([query, says]) => invalid(`the unreadable query ${query}`, list(query), { says })),
  ...cursors,
  ...otherCalls,
];
