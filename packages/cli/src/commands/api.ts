import { clientCommand, withClient } from "../client-command.ts";
import { Complaint } from "../exit.ts";
import { collect, pairOf, pairsOf } from "../input/pairs.ts";
import { readJson } from "../input/text.ts";

interface ApiFlags {
  field?: string[];
  rawField?: string[];
  input?: string;
  header?: string[];
}

const methods = ["get", "post", "put", "patch", "delete"] as const;

export const apiCommand = clientCommand("api", "Call any path of the API. What it answers is printed.")
  .argument("<method>", methods.join(", "))
  .argument("<path>", "behind /api/v1, as in /agent/runs")
  .option("-f, --field <name=text>", "of the query for get, else of the body; repeatable", collect)
  .option("-F, --raw-field <name=json>", "the same with a JSON value; repeatable", collect)
  .option("--input <file>", "the body as JSON; - reads stdin")
  .option("-H, --header <name:value>", "repeatable", collect)
  .action(
    withClient<ApiFlags>(async ({ client, out, flags }, given, path) => {
      const method = methods.find((each) => each === given?.toLowerCase());
      if (!method) throw new Complaint(`${given} is no method: there are ${methods.join(", ")}.`);
      const where = (path as string).replace(/^\/?api\/v1(?=\/)/, "").replace(/^(?!\/)/, "/");
      const fields = { ...pairsOf("--field", flags.field ?? []), ...rawFields(flags.rawField ?? []) };
      const hasFields = Object.keys(fields).length > 0;
      if (flags.input !== undefined && hasFields)
        throw new Complaint("--input is the whole body: it goes with no fields.");
      if (flags.input !== undefined && method === "get")
        throw new Complaint("A get has no body: use --field.");
      const headers = Object.fromEntries((flags.header ?? []).map(headerOf));
      const answer =
        method === "get"
          ? await client.get(where, { headers, query: fields as Record<string, string> })
          : await client[method](where, {
              headers,
              body:
                flags.input === undefined ? (hasFields ? fields : undefined) : await readJson(flags.input),
            });
      if (answer === undefined) return;
      if (answer instanceof Uint8Array) out.printBytes(answer);
      else if (typeof answer === "string") out.printForeign(answer);
      else out.document(answer);
    }),
  );

function rawFields(texts: string[]): Record<string, unknown> {
  return Object.fromEntries(
    texts.map((text) => {
      const [name, json] = pairOf("--raw-field", text);
      try {
        return [name, JSON.parse(json) as unknown];
      } catch {
        throw new Complaint(
          `--raw-field ${name} takes JSON, not ${JSON.stringify(json)}: --field takes text.`,
        );
      }
    }),
  );
}

function headerOf(text: string): [string, string] {
  const [, name, value] = /^([!#-'*+.^_`|~\w-]+):\s*(.*)$/.exec(text) ?? [];
  if (!name || value === undefined)
    throw new Complaint(`--header takes name:value, not ${JSON.stringify(text)}.`);
  // It would be in the list of processes and in the shell's history.
  if (name.toLowerCase() === "authorization")
    throw new Complaint("A key does not belong in arguments: use `outrider login`, or OUTRIDER_API_KEY.");
  return [name, value];
}
