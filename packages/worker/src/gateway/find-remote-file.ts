import { asObject, type Json } from "./formats/format.ts";

/** Fields with content that the model or the agent's tools define. A URL there is only text. */
const opaqueFields = new Set(["tools", "arguments", "args", "response"]);

/**
 * Returns the address of a file that the provider would fetch, if a request contains one. The provider's servers can
 * reach addresses that the sandbox cannot, and a process could send them anything as a part of the address.
 */
export function findRemoteFile(body: Json): string | undefined {
  const pending: unknown[] = Object.values(body);
  while (pending.length > 0) {
    const value = pending.pop();
    if (Array.isArray(value)) for (const item of value) pending.push(item);
    const object = asObject(value);
    const address = addressIn(object);
    if (address !== undefined) return address;
    for (const [name, item] of Object.entries(object)) if (!isOpaque(name, object)) pending.push(item);
  }
  return undefined;
}

/** The input of a call in Anthropic's format is an object, unlike the `input` of other formats. */
function isOpaque(name: string, { type }: Json): boolean {
  return opaqueFields.has(name) || (name === "input" && type === "tool_use");
}

function addressIn(part: Json): string | undefined {
  const { type, url, image_url, file_url, fileData, file_data } = part;
  const candidates = [
    type === "url" ? url : undefined,
    image_url,
    asObject(image_url).url,
    file_url,
    asObject(fileData).fileUri ?? asObject(fileData).file_uri,
    asObject(file_data).fileUri ?? asObject(file_data).file_uri,
  ];
  return candidates.find((value): value is string => typeof value === "string" && !/^data:/i.test(value));
}
