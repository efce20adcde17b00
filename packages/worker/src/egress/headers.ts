/** About one connection and not about the message; "expect" too, as we have answered it. */
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

/** What goes on to the other side, in order and spelled as it came: a flat list of names and values. */
export function endToEnd(rawHeaders: string[], except: string[] = []): string[] {
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [{ name, key: name.toLowerCase(), value: rawHeaders[index + 1] ?? "" }] : [],
  );
  const named = pairs
    .filter(({ key }) => key === "connection")
    .flatMap(({ value }) => value.split(",").map((token) => token.trim().toLowerCase()))
    // Whoever names this one would have the other side read a body of another length than we send.
    .filter((token) => token !== "content-length");
  const dropped = new Set([...hopByHop, ...named, ...except]);
  return pairs.filter(({ key }) => !dropped.has(key)).flatMap(({ name, value }) => [name, value]);
}
