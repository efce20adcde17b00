import { type BadRequest, create, invalid } from "./case.ts";

const KIB = 1_024;
const with_ = (members: object) => create({ prompt: "SAY: hello", ...members });

/** Each member of create with a value of another kind than it takes. */
const wrongKinds: [member: string, value: unknown, says: string][] = [
  ["prompt", 5, "must be a string"],
  ["prompt", null, "is required, unless `config.skill_spec` names a skill"],
  ["prompt", ["SAY: hello"], "must be a string"],
  ["title", 5, "must be a string"],
  ["config", "fast", "must be an object"],
  ["config", [], "must be an object"],
  ["metadata", "team=api", "must be an object"],
  ["metadata", [], "must be an object"],
  ["limits", 5, "must be an object"],
  ["limits", [], "must be an object"],
  ["attachments", {}, "must be an array"],
  ["attachments", "file", "must be an array"],
  ["output_schema", "string", "must be an object"],
  ["output_schema", [], "must be an object"],
  ["output_schema", true, "must be an object"],
  ["priority", "high", "must be a number"],
  ["priority", true, "must be a number"],
  ["priority", 0.5, "must be an integer"],
];

/** One member deeper; the pointer leads there. */
const wrongInside: [name: string, members: object, pointer: string, says: string][] = [
  ["a number as metadata", { metadata: { build: 5 } }, "/metadata/build", "must be a string"],
  ["a null as metadata", { metadata: { build: null } }, "/metadata/build", "must be a string"],
  ["text as a limit", { limits: { max_steps: "5" } }, "/limits/max_steps", "must be a number"],
  ["half a step", { limits: { max_steps: 0.5 } }, "/limits/max_steps", "must be an integer"],
  ["text as an attachment", { attachments: ["x"] }, "/attachments/0", "must be an object"],
  ["no steps", { limits: { max_steps: 0 } }, "/limits/max_steps", "must be at least 1"],
  ["10,001 steps", { limits: { max_steps: 10_001 } }, "/limits/max_steps", "must be at most 10000"],
  ["no money", { limits: { max_cost_usd: 0 } }, "/limits/max_cost_usd", "must be at least 0.0001"],
  [
    "too much money",
    { limits: { max_cost_usd: 1_000_001 } },
    "/limits/max_cost_usd",
    "must be at most 1000000",
  ],
  ["no time", { limits: { timeout_minutes: 0 } }, "/limits/timeout_minutes", "must be at least 1"],
  ["more than a week", { limits: { timeout_minutes: 10_081 } }, "/limits/timeout_minutes", "at most 10080"],
  ["an unknown limit", { limits: { max_step: 5 } }, "/limits/max_step", "did you mean `max_steps`?"],
  ["priority 11", { priority: 11 }, "/priority", "must be at most 10"],
  ["priority -11", { priority: -11 }, "/priority", "must be at least -10"],
];

const file = { file_name: "notes.txt", mime_type: "text/plain", data: "aGVsbG8=" };
const base64 = (bytes: number) => Buffer.alloc(bytes).toString("base64");
const files = (...changes: object[]) =>
  with_({ attachments: changes.map((change) => ({ ...file, ...change })) });
const tenMiB = 10 * KIB * KIB;

const attachments: BadRequest[] = [
  invalid("six attachments", files({}, {}, {}, {}, {}, {}), { pointer: "/attachments", says: "at most 5" }),
  invalid("an attachment of 10 MiB and a byte", () => files({ data: base64(tenMiB + 1) }), {
    pointer: "/attachments",
    says: `must have at most ${tenMiB} bytes in total, but have ${tenMiB + 1}`,
  }),
  invalid(
    "two attachments of 10 MiB and a byte",
    () => files({ data: base64(tenMiB) }, { data: base64(1) }),
    {
      pointer: "/attachments",
    },
  ),
  invalid("data that is not base64", files({ data: "???" }), {
    pointer: "/attachments/0/data",
    says: "must be base64",
  }),
  invalid("base64 without its padding", files({ data: "aGVsbG8" }), { pointer: "/attachments/0/data" }),
  invalid("base64 with line breaks", files({ data: "aGVs\nbG8=" }), { pointer: "/attachments/0/data" }),
  invalid("a file name that climbs", files({}, { file_name: "../x" }), {
    pointer: "/attachments/1/file_name",
  }),
  invalid("a file name that is the parent", files({ file_name: ".." }), {
    pointer: "/attachments/0/file_name",
  }),
  invalid("a file name with a backslash", files({ file_name: "a\\b" }), {
    pointer: "/attachments/0/file_name",
  }),
  invalid("a file name with a line break", files({ file_name: "a\nb" }), {
    pointer: "/attachments/0/file_name",
  }),
  invalid("an empty file name", files({ file_name: "" }), { pointer: "/attachments/0/file_name" }),
  invalid("a media type without a subtype", files({ mime_type: "text" }), {
    pointer: "/attachments/0/mime_type",
  }),
  invalid("an attachment without data", with_({ attachments: [{ file_name: "a", mime_type: "a/b" }] }), {
    pointer: "/attachments/0/data",
    says: "is required",
  }),
  invalid("an unknown member of an attachment", files({ name: "x" }), { pointer: "/attachments/0/name" }),
];

const pairs = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`key${index}`, "value"]));

const metadata: BadRequest[] = [
  invalid("21 pairs of metadata", with_({ metadata: pairs }), {
    pointer: "/metadata",
    says: "must have at most 20 pairs, but has 21",
  }),
  invalid("a metadata key with a space", with_({ metadata: { "a b": "x" } }), {
    pointer: "/metadata/a b",
    says: "has an invalid name: it must be 1 to 64 letters",
  }),
  invalid("an empty metadata key", with_({ metadata: { "": "x" } }), { pointer: "/metadata/" }),
  invalid("a metadata key of 65 characters", with_({ metadata: { ["k".repeat(65)]: "x" } }), {
    pointer: `/metadata/${"k".repeat(65)}`,
  }),
  invalid("a metadata key that needs escapes in a pointer", with_({ metadata: { "a/b~c": "x" } }), {
    pointer: "/metadata/a~1b~0c",
  }),
  invalid("a metadata value of 257 bytes", with_({ metadata: { key: "v".repeat(257) } }), {
    pointer: "/metadata/key",
    says: "must have at most 256 bytes, but has 257",
  }),
  invalid("a metadata value of 129 two-byte characters", with_({ metadata: { key: "é".repeat(129) } }), {
    pointer: "/metadata/key",
    says: "must have at most 256 bytes, but has 258",
  }),
];

function nested(levels: number): object {
  return levels === 0 ? {} : { items: nested(levels - 1) };
}

const texts: BadRequest[] = [
  invalid("no prompt", create({ title: "nothing to do" }), {
    pointer: "/prompt",
    says: "is required, unless `config.skill_spec` names a skill",
  }),
  invalid("an empty prompt", create({ prompt: "" }), { pointer: "/prompt", says: "must not be empty" }),
  invalid("a prompt of 256 KiB and a byte", create({ prompt: "x".repeat(256 * KIB + 1) }), {
    pointer: "/prompt",
    says: "must have at most 262144 bytes, but has 262145",
  }),
  invalid("a multi-byte prompt of 256 KiB and two bytes", create({ prompt: "é".repeat(128 * KIB + 1) }), {
    pointer: "/prompt",
    says: "must have at most 262144 bytes, but has 262146",
  }),
  invalid("an empty title", with_({ title: "" }), { pointer: "/title", says: "must not be empty" }),
  invalid("a title of 257 characters", with_({ title: "t".repeat(257) }), {
    pointer: "/title",
    says: "must have at most 256 characters, but has 257",
  }),
  invalid("a title of 257 astral characters", with_({ title: "🦊".repeat(257) }), {
    pointer: "/title",
    says: "must have at most 256 characters, but has 257",
  }),
  invalid("an output schema of more than 64 KiB", with_({ output_schema: { title: "s".repeat(64 * KIB) } }), {
    pointer: "/output_schema",
    says: "at most 65536",
  }),
  invalid(
    "an output schema of more than 64 KiB in UTF-8",
    with_({ output_schema: { title: "é".repeat(33_000) } }),
    {
      pointer: "/output_schema",
      says: "must have at most 65536 bytes, but has 66012",
    },
  ),
  invalid("an output schema nested beyond the limit", with_({ output_schema: nested(63) }), {
    says: "nested deeper than 64 levels",
  }),
];

const unknownMembers: BadRequest[] = [
  invalid("an unknown member", with_({ colour: "red" }), { pointer: "/colour", says: "is unknown" }),
  invalid("a misspelt member", with_({ promt: "x" }), { pointer: "/promt", says: "did you mean `prompt`?" }),
  invalid("a member in another case", with_({ Title: "x" }), {
    pointer: "/Title",
    says: "did you mean `title`?",
  }),
  invalid("a member of the configuration outside of it", with_({ model_id: "scripted" }), {
    pointer: "/model_id",
    says: "is unknown",
  }),
  invalid("`parent_run_id`, which comes later", with_({ parent_run_id: "x" }), { pointer: "/parent_run_id" }),
  invalid("a member named like a method of every object", with_({ toString: "x" }), { pointer: "/toString" }),
  invalid("several faults at once", create({ prompt: 5, titel: "x", priority: 11 }), {
    pointer: "/titel",
    says: "(and 2 more)",
  }),
];

export const createCases: BadRequest[] = [
  ...wrongKinds.map(([member, value, says]) =>
    invalid(`${JSON.stringify(value)} as \`${member}\``, with_({ [member]: value }), {
      pointer: `/${member}`,
      says,
    }),
  ),
  ...wrongInside.map(([name, members, pointer, says]) => invalid(name, with_(members), { pointer, says })),
  ...texts,
  ...unknownMembers,
  ...metadata,
  ...attachments,
];
