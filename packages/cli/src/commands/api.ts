import { clientCommand, withClient } from "../client-command.ts";
import { UsageError } from "../exit-codes.ts";
import { collect, parsePair, parsePairs } from "../input/pairs.ts";
import { readJson } from "../input/text.ts";

interface ApiFlags {
  field?: string[];
  rawField?: string[];
  input?: string;
  header?: string[];
}

const methods = ["get", "post", "put", "patch", "delete"] as const;

export const apiCommand = clientCommand("api", "Send a request to the API. Prints the response.")
  .argument("<method>", methods.join(", "))
  .argument("<path>", "path after /api/v1, such as /agent/runs")
  .option("-f, --field <name=text>", "text field of the query (get) or of the body; repeatable", collect)
  .option("-F, --raw-field <name=json>", "field with a JSON value; repeatable", collect)
  .option("--input <file>", "JSON file with the body; - reads stdin")
  .option("-H, --header <name:value>", "request header; repeatable", collect)
  .action(
    withClient<ApiFlags>(async ({ client, out, flags }, methodName, path) => {
      const method = methods.find((candidate) => candidate === methodName?.toLowerCase());
      if (!method)
        throw new UsageError(`${methodName} is not a supported method. Use one of ${methods.join(", ")}.`);
      const apiPath = (path as string).replace(/^\/?api\/v1(?=\/)/, "").replace(/^(?!\/)/, "/");
      const fields = { ...parsePairs("--field", flags.field ?? []), ...rawFields(flags.rawField ?? []) };
      const hasFields = Object.keys(fields).length > 0;
      if (flags.input !== undefined && hasFields)
        throw new UsageError("--input cannot be combined with --field or --raw-field.");
      if (flags.input !== undefined && method === "get")
        throw new UsageError("get requests have no body. Use --field for query parameters.");
      const headers = Object.fromEntries((flags.header ?? []).map(parseHeader));
      const response =
        method === "get"
          ? await client.get(apiPath, { headers, query: fields as Record<string, string> })
          : await client[method](apiPath, {
              headers,
              body:
                flags.input === undefined ? (hasFields ? fields : undefined) : await readJson(flags.input),
            });
      if (response === undefined) return;
      if (response instanceof Uint8Array) out.printBytes(response);
      else if (typeof response === "string") out.printUntrusted(response);
      else out.document(response);
    }),
  );

function rawFields(texts: string[]): Record<string, unknown> {
  return Object.fromEntries(
    texts.map((text) => {
      const [name, json] = parsePair("--raw-field", text);
      try {
        return [name, JSON.parse(json) as unknown];
      } catch {
        throw new UsageError(
          `--raw-field ${name} must be JSON, not ${JSON.stringify(json)}. Use --field for text.`,
        );
      }
    }),
  );
}

function parseHeader(text: string): [string, string] {
  const [, name, value] = /^([!#-'*+.^_`|~\w-]+):\s*(.*)$/.exec(text) ?? [];
  if (!name || value === undefined)
    throw new UsageError(`--header must be name:value, not ${JSON.stringify(text)}.`);
  // A key in the arguments would appear in the process list and the shell history.
  if (name.toLowerCase() === "authorization")
    throw new UsageError("Do not pass keys as arguments. Run `outrider login` or set OUTRIDER_API_KEY.");
  return [name, value];
}
