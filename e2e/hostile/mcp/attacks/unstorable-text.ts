import { type Attack, response } from "../attack.ts";

/** Text that PostgreSQL cannot store, in names, keys and values. */
export const unstorableText: Record<string, Attack> = {
  "lone surrogates in the server's name": {
    initialize: (id) => [
      response(
        id,
        '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"\\ud800 x","version":"\\u0000\\udfff"}}',
      ),
    ],
    expected: /^SUCCEEDED: ordinary$/,
  },
  "lone surrogates and NUL characters in tools and results": {
    list: (id) => [
      response(
        id,
        '{"tools":[{"name":"attack","description":"\\ud800","inputSchema":{"type":"object","properties":{"\\udfff\\u0000":{"enum":["\\ud800"]}}}}]}',
      ),
    ],
    call: (id) => [
      response(
        id,
        '{"content":[{"type":"text","text":"\\ud800\\u0000"},{"\\udfff":{"__proto__":"\\u0000"}}]}',
      ),
    ],
    expected: /^SUCCEEDED: \ufffd\ufffd\n/,
  },
};
