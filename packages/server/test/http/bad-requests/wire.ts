import { type BadRequest, type Expected, refusedAs } from "./case.ts";
import type { Fixture } from "./fixture.ts";

const body = '{"prompt":"SAY: hello"}';

/** A request line, headers and what follows, with the right host and key. */
function request(lines: string[], rest = "", first = "POST /api/v1/agent/run HTTP/1.1") {
  return ({ server }: Fixture) =>
    `${[first, "Host: localhost", `Authorization: Bearer ${server.key}`, "Content-Type: application/json", ...lines].join("\r\n")}\r\n\r\n${rest}`;
}

const length = `Content-Length: ${body.length}`;
const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

const wire: [name: string, bytes: (fixture: Fixture) => string | Buffer, expected?: Expected][] = [
  [
    "garbage instead of HTTP",
    () => "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    { says: "not a valid HTTP request" },
  ],
  ["a method that HTTP does not know", request([], "", "FETCH /api/v1/agent/runs HTTP/1.1")],
  ["HTTP/3.0 over TCP", request([], "", "GET /api/v1/agent/runs HTTP/3.0")],
  ["a path with a line break", request([], "", "GET /api/v1/agent/\nruns HTTP/1.1")],
  [
    "no host",
    () => `GET /api/v1/agent/runs HTTP/1.1\r\nConnection: close\r\n\r\n`,
    { says: "`Host`", instance: "/api/v1/agent/runs" },
  ],
  [
    "two hosts",
    request(["Host: elsewhere", "Connection: close"], "", "GET /api/v1/agent/runs HTTP/1.1"),
    { says: "one `Host`", instance: "/api/v1/agent/runs" },
  ],
  ["lines that end without a carriage return", () => "GET /healthz HTTP/1.1\nHost: localhost\n\n"],
  ["a carriage return alone in a header", request(["X-Test: 1\rX-Other: 2"])],
  ["a header without a colon", request(["Nonsense"])],
  ["a header with a space before its colon", request(["X-Test : 1"])],
  ["a header on two lines", request(["X-Test: 1\r\n 2"])],
  ["a NUL in a header", request(["X-Test: a\0b"])],
  ["headers of 17 KiB", request([`X-Test: ${"a".repeat(17 * 1_024)}`]), { says: "larger than 16384 bytes" }],
  ["2,000 headers", request(Array.from({ length: 2_000 }, (_, index) => `X-Test-${index}: ${index}`))],
  ["two different lengths", request([length, "Content-Length: 0"], body)],
  ["one length twice", request([length, length], body)],
  ["a list of lengths", request([`Content-Length: ${body.length}, ${body.length}`], body)],
  ["a signed length", request([`Content-Length: +${body.length}`], body)],
  ["a negative length", request(["Content-Length: -1"], body)],
  ["a length in hexadecimal", request([`Content-Length: 0x${body.length.toString(16)}`], body)],
  ["a length and chunks", request([length, "Transfer-Encoding: chunked"], chunked)],
  ["chunks and a length", request(["Transfer-Encoding: chunked", length], chunked)],
  ["an encoding that is not chunked last", request(["Transfer-Encoding: chunked, identity"], chunked)],
  ["an encoding with a character too many", request(["Transfer-Encoding: xchunked"], chunked)],
  ["an encoding twice", request(["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], chunked)],
  ["chunks in chunks", request(["Transfer-Encoding: chunked, chunked"], chunked)],
  [
    "a chunk's extension that ends without a carriage return",
    request(["Transfer-Encoding: chunked"], `2;\nxx\r\n${chunked}`),
  ],
  [
    "chunks whose lines end without a carriage return",
    request(["Transfer-Encoding: chunked"], chunked.replaceAll("\r\n", "\n")),
  ],
  [
    "a chunk of more bytes than can be counted",
    request(["Transfer-Encoding: chunked"], `${"f".repeat(18)}\r\n`),
  ],
  ["a chunk with a bad size", request(["Transfer-Encoding: chunked"], `zz\r\n${body}\r\n0\r\n\r\n`)],
  ["a chunk larger than it says", request(["Transfer-Encoding: chunked"], `2\r\n${body}\r\n0\r\n\r\n`)],
];

export const wireCases: BadRequest[] = wire.map(([name, bytes, expected = {}]) => {
  const { send: _, ...row } = refusedAs("invalid_request")(name, { method: "", path: "" }, expected);
  return { ...row, bytes };
});
