import { type Attack, callResult, repeat, response } from "../attack.ts";

const ping = '{"jsonrpc":"2.0","id":"ping","method":"ping"}\n';

function* singleBytes(text: string): Iterable<string> {
  yield* text;
}

/** Output that is not a well-formed sequence of messages. */
export const brokenStreams: Record<string, Attack> = {
  "a line without an end": { call: () => repeat("x", 20_000_000), expected: /^SUCCEEDED: / },
  "a flood of pings": {
    *call(id) {
      yield* repeat(ping, 100_000);
      yield response(id, '{"content":[]}');
    },
    expected: /^SUCCEEDED: /,
  },
  "a flood of empty lines": {
    *call(id) {
      yield* repeat("\n", 2_000_000);
      yield response(id, '{"content":[]}');
    },
    expected: /^SUCCEEDED: /,
  },
  "a response in single bytes": {
    call: (id) => singleBytes(response(id, callResult)),
    expected: /^SUCCEEDED: ordinary$/,
  },
  "responses with an unknown request id": {
    *call(id) {
      yield* repeat(`${response(999, '{"content":[]}')}\n`, 50_000);
      yield response(id, '{"content":[]}');
    },
    expected: /^SUCCEEDED: /,
  },
};
