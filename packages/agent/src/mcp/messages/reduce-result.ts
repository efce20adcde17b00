import { reduceToolList } from "./reduce-tool-list.ts";
import { reduceToolResult } from "./reduce-tool-result.ts";
import { isObject, truncateText } from "./reduced-text.ts";

type Fields = Record<string, unknown>;

/** More than the receipt shows, so that a secret in the name can be redacted before the name is shortened. */
const MAX_NAME_CHARACTERS = 1_000;

/** Reduces the result of a request to the fields that the client reads. */
export function reduceResult(method: string, result: Fields): Fields {
  switch (method) {
    case "initialize":
      return reduceInitialize(result);
    case "tools/list":
      return reduceToolList(result);
    case "tools/call":
      // The client passes `toolResult` on without validating its content, which is already in its final form.
      return { toolResult: reduceToolResult(result) };
    default:
      return {};
  }
}

/** A field of the wrong type is passed on as it is, so that the client reports it. */
function reduceInitialize({ protocolVersion, capabilities, serverInfo }: Fields): Fields {
  return {
    protocolVersion: reduceText(protocolVersion),
    capabilities: isObject(capabilities) ? (capabilities.tools === undefined ? {} : { tools: {} }) : null,
    serverInfo: isObject(serverInfo)
      ? { name: reduceText(serverInfo.name), version: reduceText(serverInfo.version) }
      : null,
  };
}

function reduceText(value: unknown): unknown {
  return typeof value === "string" ? truncateText(value, MAX_NAME_CHARACTERS) : null;
}
