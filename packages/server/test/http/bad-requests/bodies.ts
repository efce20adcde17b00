import { type BadRequest, create, invalid, refusedAs } from "./case.ts";

const MIB = 1_024 * 1_024;
const prompt = "SAY: hello";
const good = JSON.stringify({ prompt });

const json = (text: string) => create(text);

const notJson: BadRequest[] = [
  invalid("no body", { method: "POST", path: "/agent/run" }, { says: "requires a JSON body" }),
  invalid("an empty body", json(""), { says: "requires a JSON body" }),
  invalid("white space", json(" \n"), { says: "not valid JSON" }),
  invalid("JSON that is cut off", json('{"prompt": "hello"'), { says: "not valid JSON" }),
  invalid("JSON with a trailing comma", json('{"prompt": "hello",}'), { says: "not valid JSON" }),
  invalid("two JSON values", json(`${good}${good}`), { says: "not valid JSON" }),
  invalid("NaN", json('{"prompt": "hello", "priority": NaN}'), { says: "not valid JSON" }),
  invalid("a line break inside of a string", json('{"prompt": "hello\nworld"}'), { says: "not valid JSON" }),
  invalid("a byte that is not UTF-8", create(Buffer.from('{"prompt": "\xff"}', "latin1")), {
    says: "not valid UTF-8",
  }),
  invalid("an overlong UTF-8 form", create(Buffer.from('{"prompt": "\xc0\xaf"}', "latin1")), {
    says: "not valid UTF-8",
  }),
  invalid("a surrogate written in UTF-8", create(Buffer.from('{"prompt": "\xed\xa0\x80"}', "latin1")), {
    says: "not valid UTF-8",
  }),
  invalid("a JSON array", json("[]"), { says: "The body must be an object" }),
  invalid("a JSON string", json('"SAY: hello"'), { says: "The body must be an object" }),
  invalid("a JSON null", json("null"), { says: "The body must be an object" }),
  invalid("a JSON number", json("5"), { says: "The body must be an object" }),
  invalid("a JSON true", json("true"), { says: "The body must be an object" }),
  invalid("100,000 open brackets", json("[".repeat(100_000)), { says: "nested deeper than 64 levels" }),
  invalid("100,000 nested arrays", json("[".repeat(100_000) + "]".repeat(100_000)), {
    says: "nested deeper than 64 levels",
  }),
  invalid("100,000 nested objects", json(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`), {
    says: "nested deeper than 64 levels",
  }),
];

const notKeepable: BadRequest[] = [
  invalid("a NUL in a string", json('{"prompt": "a\\u0000b"}'), {
    pointer: "/prompt",
    says: "must not contain a NUL",
  }),
  invalid("a NUL in a name", json('{"prompt": "a", "metadata": {"a\\u0000b": "c"}}'), {
    pointer: "/metadata",
    says: "must not contain a NUL",
  }),
  invalid("a NUL deep in an output schema", json('{"prompt": "a", "output_schema": {"enum": ["\\u0000"]}}'), {
    pointer: "/output_schema/enum/0",
    says: "must not contain a NUL",
  }),
  invalid("the first half of a surrogate pair", json('{"prompt": "\\ud800"}'), {
    pointer: "/prompt",
    says: "unpaired surrogate",
  }),
  invalid("the second half of a surrogate pair", json('{"prompt": "a", "title": "\\udc00\\ud800"}'), {
    pointer: "/title",
    says: "unpaired surrogate",
  }),
  invalid("half a surrogate pair in a name", json('{"prompt": "a", "metadata": {"\\ud800": "c"}}'), {
    pointer: "/metadata",
    says: "unpaired surrogate",
  }),
  invalid("a member `__proto__`", json('{"prompt": "a", "__proto__": {"title": "b"}}'), {
    says: "`__proto__`",
  }),
  invalid("a member `__proto__` in metadata", json('{"prompt": "a", "metadata": {"__proto__": "b"}}'), {
    pointer: "/metadata",
    says: "`__proto__`",
  }),
  invalid("a member `constructor`", json('{"prompt": "a", "constructor": {}}'), { pointer: "/constructor" }),
  invalid("a member twice", json('{"prompt": "a", "prompt": "b"}'), { says: "`prompt` twice" }),
  invalid(
    "a member twice, deep inside and written differently",
    json('{"prompt": "a \\"{,", "config": {"name": "x", "na\\u006de": "y"}}'),
    { says: "`name` twice" },
  ),
  invalid("a number beyond all bounds", json('{"prompt": "a", "priority": 1e400}'), {
    pointer: "/priority",
    says: "must be a finite number",
  }),
  invalid(
    "a number beyond all bounds in a schema",
    json('{"prompt": "a", "output_schema": {"maximum": -1e400}}'),
    {
      pointer: "/output_schema/maximum",
      says: "must be a finite number",
    },
  ),
];

const tooLarge = refusedAs("payload_too_large");
/** Valid JSON of exactly so many bytes. */
const padded = (bytes: number, start = good) => start + " ".repeat(bytes - start.length);
const noFiles = JSON.stringify({ prompt, attachments: [] });

const sizes: BadRequest[] = [
  tooLarge("a body of 1 MiB and a byte without attachments", () => json(padded(MIB + 1)), {
    says: "1048576 bytes",
  }),
  tooLarge("a body of 1 MiB and a byte with an empty list of attachments", () =>
    json(padded(MIB + 1, noFiles)),
  ),
  tooLarge("a follow-up of 1 MiB and a byte", ({ run }) => ({
    method: "POST",
    path: `/agent/runs/${run.queued}/followups`,
    body: padded(MIB + 1, JSON.stringify({ message: "hello" })),
  })),
  tooLarge("a body of 1 MiB and a byte where attachments have no place", () => ({
    method: "POST",
    path: "/agent/environments",
    body: padded(MIB + 1, JSON.stringify({ name: "large" })),
  })),
  tooLarge("a body of 17 MiB", () => json(padded(17 * MIB))),
  tooLarge("a body of 17 MiB of unannounced length", () =>
    create(padded(17 * MIB), { headers: { "content-length": null, "transfer-encoding": "chunked" } }),
  ),
  refusedAs("authentication_required")("a body of 17 MiB without a key", () =>
    create(padded(17 * MIB), { key: null }),
  ),
];

const wrongType = refusedAs("unsupported_media_type");
const typed = (type: string | null, body: string | Buffer = good) =>
  create(body, { headers: { "content-type": type } });

const types: BadRequest[] = [
  wrongType("plain text", typed("text/plain")),
  wrongType("a form", typed("application/x-www-form-urlencoded", "prompt=hello")),
  wrongType("a form with files", typed("multipart/form-data; boundary=x", "--x--")),
  wrongType("no content type", typed(null)),
  wrongType("a content type that is none", typed("json")),
  wrongType("an empty content type", typed("")),
  wrongType("JSON in Latin-1", typed("application/json; charset=latin1")),
  wrongType("JSON in UTF-16", typed("application/json; charset=utf-16", Buffer.from(good, "utf16le"))),
  wrongType("JSON lines", typed("application/x-ndjson")),
  wrongType("a problem as a request", typed("application/problem+json")),
  wrongType("a compressed body", create(good, { headers: { "content-encoding": "gzip" } })),
  wrongType("plain text for a call without members", ({ run }) => ({
    method: "POST",
    path: `/agent/runs/${run.queued}/cancel`,
    body: "now",
    headers: { "content-type": "text/plain" },
  })),
];

const uninvited: BadRequest[] = [
  invalid(
    "members for a call that takes none",
    ({ run }) => ({ method: "POST", path: `/agent/runs/${run.queued}/cancel`, body: { reason: "late" } }),
    { says: "takes no body" },
  ),
  invalid(
    "a list for a call that takes no members",
    ({ run }) => ({ method: "POST", path: `/agent/runs/${run.queued}/cancel`, body: [] }),
    { says: "takes no body" },
  ),
];

export const bodyCases: BadRequest[] = [...notJson, ...notKeepable, ...sizes, ...types, ...uninvited];
