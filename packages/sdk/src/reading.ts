import { APIError } from "./errors.ts";

/** How to parse a response body. `auto` depends on the content type. */
export type Reading = "json" | "text" | "bytes" | "auto";

export const accepted: Record<Reading, string> = {
  json: "application/json",
  text: "text/*",
  bytes: "*/*",
  auto: "application/json, */*;q=0.5",
};

export function read<T>(response: Response, bytes: ArrayBuffer, reading: Reading): T {
  if (response.status === 204) return undefined as T;
  const type = response.headers.get("content-type") ?? "";
  const isJson = /[/+]json/.test(type);
  if (reading === "bytes") return new Uint8Array(bytes) as T;
  if (reading === "text" || (reading === "auto" && !isJson && type.startsWith("text/")))
    return decode(bytes) as T;
  if (reading === "auto" && !isJson) return (bytes.byteLength > 0 ? new Uint8Array(bytes) : undefined) as T;
  try {
    return JSON.parse(decode(bytes)) as T;
  } catch (cause) {
    const received = `${response.status} with ${type || "no content type"} instead of JSON`;
    throw new APIError(`The server returned ${received}. Check that baseURL is the URL of the API.`, {
      cause,
    });
  }
}

export function decode(bytes: ArrayBuffer | undefined): string {
  return new TextDecoder().decode(bytes);
}
