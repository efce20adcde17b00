import { globSync, readFileSync, writeFileSync } from "node:fs";

/** Writes docs/sdk-typescript.md from the source; with --check only tells whether it is up to date. */

const source = new URL("../src/", import.meta.url);
const file = new URL("../../../docs/sdk-typescript.md", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, source), "utf8");

interface Member {
  comment: string;
  signature: string;
}

/** The documented members of a class: everything two spaces in that is neither private nor the constructor. */
function methodsOf(text: string): Member[] {
  const pattern =
    /^(?: {2}\/\*\* ([^\n]*?) \*\/\n)?^ {2}(?!constructor|readonly|static|override)(?:async )?\*?(\w+(?:<[^\n(]*>)?\(.*?\)): ([^\n]*?)(?: \{|;)$/gms;
  const [, body = ""] = /^export class [^\n]* \{\n(.*?)^\}/ms.exec(text) ?? [];
  const found = [...body.matchAll(pattern)].map(([, comment = "", call = "", answer = ""]) => ({
    comment,
    signature: `${tidy(call)}: ${answer}`,
  }));
  // Of a method with overloads the last signature is the implementation's, which no caller sees.
  const names = found.map(({ signature }) => signature.split(/[<(]/)[0]);
  return found.filter(
    (_, index) => names.indexOf(names[index]) === index || names.lastIndexOf(names[index]) !== index,
  );
}

/** On one line, and as a caller sees it: what has a default may be left out. */
function tidy(call: string): string {
  return call
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\( | \)|,(?= ?\))/g, (found) => found.trim().replace(",", ""))
    .replaceAll(/\{ [^{}]* \}: ([^=]+) = \{\}/g, "options?: $1")
    .replaceAll(/(\w+): ([\w.]+) = (?:\{\}|"\w+")/g, "$1?: $2");
}

function fieldsOf(text: string, name: string): Member[] {
  const [, body = ""] = new RegExp(`^export interface ${name}[^\\n]* \\{\\n(.*?)^\\}`, "ms").exec(text) ?? [];
  return [...body.matchAll(/^(?: {2}\/\*\* (.*?) \*\/\n)?^ {2}(\w+\??: .*);$/gm)].map(
    ([, comment = "", signature = ""]) => ({ comment, signature }),
  );
}

function table(heading: string, members: Member[]): string {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  const rows = members.map(({ comment, signature }) => `| \`${cell(signature)}\` | ${cell(comment)} |`);
  return [`| ${heading} | |`, "|---|---|", ...rows].join("\n");
}

function resource(path: string): string {
  const text = read(path);
  const name = path.replace("resources/", "").replace(".ts", "");
  const [, words] = /^\/\*\* (.*) \*\/\nexport class/m.exec(text) ?? [];
  return [`### client.${name}`, words, table("Method", methodsOf(text))].filter(Boolean).join("\n\n");
}

const client = read("client.ts");
const order = [...client.matchAll(/^ {2}readonly (\w+): \w+;$/gm)].map(([, name]) => `resources/${name}.ts`);
const known = globSync("resources/*.ts", { cwd: source.pathname });
if (known.some((path) => !order.includes(path))) throw new Error("A resource is missing in the client.");

const errors = [
  ...read("errors.ts").matchAll(/^(?:\/\*\* (.*) \*\/\n)?export class (\w+) extends (\w+)/gm),
].map(([, comment = "", name, base]) => ({ comment, signature: `${name} extends ${base}` }));
const models = [
  ...read("generated/models.ts").matchAll(/^(?:\/\*\* (.*) \*\/\n)?export (?:interface|type) (\w+)/gm),
].map(([, comment = "", signature = ""]) => ({ comment, signature }));

const text = `${[
  "# TypeScript SDK: reference",
  "Written from the source by `packages/sdk/scripts/reference.ts`. How to begin is in `packages/sdk/README.md`.",
  "## Client",
  "`new Outrider(options)`; every option is optional.",
  table("Option", fieldsOf(client, "ClientOptions")),
  table("Method", methodsOf(client)),
  "Every call takes these as its last argument:",
  table("RequestOptions", fieldsOf(read("http.ts"), "RequestOptions")),
  "## Resources",
  ...order.map(resource),
  "## Promises, pages, streams",
  "A call gives a `ResponsePromise`, a list that has pages a `PagePromise`, a stream an `EventStream`; the last two are iterated over with `for await`.",
  table("ResponsePromise", methodsOf(read("promise.ts"))),
  table("Page", methodsOf(read("page.ts"))),
  table("EventStream", methodsOf(read("stream.ts"))),
  table("Options of a stream, besides those of a call", [
    ...fieldsOf(read("stream.ts"), "StreamOptions"),
    ...fieldsOf(read("resources/runs.ts"), "RunStreamOptions"),
  ]),
  table("Options of a wait, besides those of a call", fieldsOf(read("resources/runs.ts"), "WaitOptions")),
  "## Errors",
  table("Class", errors),
  "## Types",
  table("Type", models),
].join("\n\n")}\n`;

if (!process.argv.includes("--check")) {
  writeFileSync(file, text);
} else if (readFileSync(file, "utf8") !== text) {
  console.error("docs/sdk-typescript.md differs from the SDK: run `node packages/sdk/scripts/reference.ts`.");
  process.exit(1);
}
