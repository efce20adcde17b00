import { type Attack, largeResponse, repeat, response } from "../attack.ts";

function* items(count: number): Iterable<string> {
  yield '{"content":[';
  yield* repeat("{},", count - 1);
  yield "{}]}";
}

function* nested(depth: number): Iterable<string> {
  yield '{"content":[],"structuredContent":';
  yield* repeat("[", depth);
  yield* repeat("]", depth);
  yield "}";
}

function* records(count: number): Iterable<string> {
  yield '{"structuredContent":[';
  yield* repeat('{"name":"value","count":1},', count);
  yield "null]}";
}

function* text(megabytes: number): Iterable<string> {
  yield '{"content":[{"type":"text","text":"';
  yield* repeat("\\u0000\\ud800 é", megabytes * 65_536);
  yield '"}]}';
}

/** Long texts of the same letter are the worst case of many searches. */
function* similarTexts(): Iterable<string> {
  yield '{"content":[{"type":"text","text":"';
  yield* repeat("a", 10_000_000);
  yield '"}],"structuredContent":{"text":"ab';
  yield* repeat("a", 5_000_000);
  yield '"}}';
}

const image = '{"type":"image","mimeType":"image/png","data":"AAAA"},';

/** Results that are too large to be validated item by item. */
export const oversizedResults: Record<string, Attack> = {
  "100,000 empty items": {
    call: (id) => largeResponse(id, items(100_000)),
    expected: /^SUCCEEDED: The server sent a message that contains more than 100000 values\.$/,
  },
  "5 million empty items": {
    call: (id) => largeResponse(id, items(5_000_000)),
    expected: /^SUCCEEDED: The server sent a message that contains more than 100000 values\.$/,
  },
  "9 MB of structured content": {
    call: (id) => largeResponse(id, records(330_000)),
    expected: /^SUCCEEDED: The server sent a message that contains more than 100000 values\.$/,
  },
  "a result nested 200,000 levels deep": {
    call: (id) => largeResponse(id, nested(200_000)),
    expected: /^SUCCEEDED: The server sent a message that is nested deeper than 100 levels\.$/,
  },
  "15 MB of text with escapes": {
    call: (id) => largeResponse(id, text(15)),
    expected: /^SUCCEEDED: (\ufffd\ufffd é){1000}/,
  },
  "20,000 images": {
    call: (id) => largeResponse(id, ['{"content":[', image.repeat(20_000), "{}]}"]),
    expected: /^SUCCEEDED: \[an image, .*\[19001 more items omitted\]$/s,
  },
  "an error message of 10 MB": {
    call: (id) => [`{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"${"x".repeat(10_000_000)}"}}`],
    expected: /^SUCCEEDED: x{4000}$/,
  },
  "a result that is not an object": {
    call: (id) => [response(id, "[[[]]]")],
    expected: /^SUCCEEDED: The server sent a response without a result\.$/,
  },
  "10 MB of text and 5 MB of similar structured content": {
    call: (id) => largeResponse(id, similarTexts()),
    expected: /^SUCCEEDED: a{10000}/,
  },
};
