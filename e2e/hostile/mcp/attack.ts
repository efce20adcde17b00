/** An attack by an MCP server. A method without an answer of its own is answered as by a normal server. */
export interface Attack {
  initialize?: Answer;
  list?: Answer;
  call?: Answer;
  /** Matches the end of the run: its error code and message, or SUCCEEDED and the result of the call. */
  expected: RegExp;
}

/** Writes a raw line for the request with this id. The text need not be JSON. */
export type Answer = (id: number) => Iterable<string>;

/** Builds a response from raw JSON. */
export function response(id: number, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** Yields a response whose result consists of these parts, without joining them. */
export function* largeResponse(id: number, parts: Iterable<string>): Iterable<string> {
  yield `{"jsonrpc":"2.0","id":${id},"result":`;
  yield* parts;
  yield "}";
}

export const initializeResult = JSON.stringify({
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "hostile", version: "1" },
});
export const listResult = JSON.stringify({
  tools: [{ name: "attack", inputSchema: { type: "object" } }],
});
export const callResult = JSON.stringify({ content: [{ type: "text", text: "ordinary" }] });

/** Repeats a text in pieces that a pipe can take. */
export function* repeat(text: string, count: number): Iterable<string> {
  const PER_PIECE = 10_000;
  const piece = text.repeat(PER_PIECE);
  for (let left = count; left > 0; left -= PER_PIECE) yield left < PER_PIECE ? text.repeat(left) : piece;
}
