import { APIError } from "./errors.ts";

/** How a body becomes a value; `auto` goes by its content type. */
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
    const words = `${response.status} with ${type || "no content type"} where JSON was expected`;
    throw new APIError(`The service answered ${words}: is baseURL the API's address?`, { cause });
  }
}

export function decode(bytes: ArrayBuffer | undefined): string {
  return new TextDecoder().decode(bytes);
}
