import { errorTable } from "@outrider/contract/error";

interface Operation {
  description?: string;
  "x-scope"?: string;
  responses: Record<string, { description: string; content?: unknown }>;
}

interface OpenApiDocument {
  info: { description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
}

/** `openapi.json` for people, who need not read the same problem ten times per call. */
export function referenceDocument(openapi: string): string {
  const document = JSON.parse(openapi) as OpenApiDocument;
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  nameServer(document);
  for (const operation of operations) {
    nameScope(operation);
    shortenErrors(operation);
  }
  return JSON.stringify(document);
}

/** A sentence instead of the renderer's menu, which is empty but for one entry. */
function nameServer({ info, servers: [server] }: OpenApiDocument) {
  if (server) info.description += `\n\nAll paths below begin with \`${server.url}\`.`;
}

/** The renderer shows no extensions, but whoever calls needs to know the scope. */
function nameScope(operation: Operation) {
  const scope = operation["x-scope"];
  if (!scope) return;
  const sentence = `Needs a key with the scope \`${scope}\`.`;
  operation.description = operation.description ? `${operation.description}\n\n${sentence}` : sentence;
}

/** All errors have one form, which the schema `Error` shows; here each code leads to its page instead. */
function shortenErrors({ responses }: Operation) {
  for (const [status, response] of Object.entries(responses)) {
    if (Number(status) < 400) continue;
    delete response.content;
    response.description = linkCodes(response.description);
  }
}

function linkCodes(description: string): string {
  const linked = description.replace(/\s*`(\w+)`(?=:)/g, (mention, code) =>
    Object.hasOwn(errorTable, code) ? `\n\n[\`${code}\`](/docs/errors/${code})` : mention,
  );
  return linked.trim();
}
