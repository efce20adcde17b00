import { errorTable } from "@outrider/contract/errors/error";

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

/** Prepares `openapi.json` for display. Replaces error responses, which all have the same schema, with links. */
export function referenceDocument(openapi: string): string {
  const document = JSON.parse(openapi) as OpenApiDocument;
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  addBasePath(document);
  for (const operation of operations) {
    addScope(operation);
    shortenErrors(operation);
  }
  return JSON.stringify(document);
}

/** Adds a sentence that replaces the renderer's server menu, which would have only one entry. */
function addBasePath({ info, servers: [server] }: OpenApiDocument) {
  if (server) info.description += `\n\nAll paths start with \`${server.url}\`.`;
}

/** Adds the required scope to the description, because the renderer does not show extensions. */
function addScope(operation: Operation) {
  const scope = operation["x-scope"];
  if (!scope) return;
  const sentence = `Requires a key with the scope \`${scope}\`.`;
  operation.description = operation.description ? `${operation.description}\n\n${sentence}` : sentence;
}

/** Replaces the schemas of error responses with links to the error code pages. */
function shortenErrors({ responses }: Operation) {
  for (const [status, response] of Object.entries(responses)) {
    if (Number(status) < 400) continue;
    delete response.content;
    response.description = linkCodes(response.description);
  }
}

function linkCodes(description: string): string {
  const linked = description.replace(/\s*`(\w+)`(?=:)/g, (match, code) =>
    Object.hasOwn(errorTable, code) ? `\n\n[\`${code}\`](/docs/errors/${code})` : match,
  );
  return linked.trim();
}
