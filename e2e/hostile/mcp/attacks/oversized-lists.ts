import { type Attack, largeResponse, repeat, response } from "../attack.ts";

const tool = (name: string, schema: string, description = "") =>
  `{"name":"${name}","description":"${description}","inputSchema":${schema}}`;

function* tools(count: number): Iterable<string> {
  yield '{"tools":[';
  for (let index = 0; index < count; index++) {
    yield `${index > 0 ? "," : ""}${tool(`tool-${index}`, '{"type":"object"}', "x".repeat(2_000))}`;
  }
  yield "]}";
}

function* deepSchema(depth: number): Iterable<string> {
  yield '{"tools":[{"name":"attack","inputSchema":';
  yield* repeat('{"items":', depth);
  yield "{}";
  yield* repeat("}", depth);
  yield "}]}";
}

/** Lists of tools that are too large for a model, or for the worker. */
export const oversizedLists: Record<string, Attack> = {
  "5,000 tools with long descriptions": {
    list: (id) => largeResponse(id, tools(5_000)),
    expected: /^SUCCEEDED: There is no tool hostile__attack: .*hostile__tool-0/,
  },
  "an input schema nested 200,000 levels deep": {
    list: (id) => largeResponse(id, deepSchema(200_000)),
    expected: /^mcp_server_failed: .* is nested deeper than 100 levels\./,
  },
  "an input schema nested 90 levels deep": {
    list: (id) => largeResponse(id, deepSchema(90)),
    expected: /^SUCCEEDED: ordinary$/,
  },
  "a description of 10 MB": {
    list: (id) => [response(id, `{"tools":[${tool("attack", "{}", "x".repeat(10_000_000))}]}`)],
    expected: /^SUCCEEDED: ordinary$/,
  },
  "a tool name of 1 MB": {
    list: (id) => [response(id, `{"tools":[${tool("x".repeat(1_000_000), "{}")}]}`)],
    expected: /^mcp_server_failed: .* a tool name of more than 256 characters\./,
  },
  "pages without end": {
    list: (id) => [response(id, `{"tools":[${tool(`tool-${id}`, "{}")}],"nextCursor":"next"}`)],
    // Only a limited number of pages is read, and they lack the tool.
    expected: /There is no tool hostile__attack: /,
  },
};
