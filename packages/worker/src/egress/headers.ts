/**
 * Headers that apply to one connection rather than to the message. Includes `expect`, because the proxy itself answers
 * it.
 */
const hopByHop = [
  "connection",
  "expect",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** Returns the headers to forward as a flat list of names and values, in their original order and spelling. */
export function endToEndHeaders(rawHeaders: string[], except: string[] = []): string[] {
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [{ name, key: name.toLowerCase(), value: rawHeaders[index + 1] ?? "" }] : [],
  );
  const named = pairs
    .filter(({ key }) => key === "connection")
    .flatMap(({ value }) => value.split(",").map((token) => token.trim().toLowerCase()))
    // Dropping this header would make the other side expect a different body length than the proxy sends.
    .filter((token) => token !== "content-length");
  const dropped = new Set([...hopByHop, ...named, ...except]);
  return pairs.filter(({ key }) => !dropped.has(key)).flatMap(({ name, value }) => [name, value]);
}
