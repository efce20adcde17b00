/**
 * Answers of a hostile model provider, as raw text of an OpenAI-compatible event stream. Each answer ends the turn or
 * exceeds a limit, so that every run against it ends.
 */

const event = (data: string) => `data: ${data}\n\n`;
const chunk = (delta: string, finish = "null") =>
  event(
    `{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}`,
  );
const usage = (tokens: string) =>
  event(
    `{"id":"1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":${tokens},"completion_tokens":${tokens},"total_tokens":${tokens}}}`,
  );
const call = (name: string, input: string) =>
  chunk(
    `{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"${name}","arguments":${JSON.stringify(input)}}}]}`,
  );
const end = (reason: string) => `${chunk("{}", `"${reason}"`)}${usage("1")}${event("[DONE]")}`;

/** Calls a tool in the first response, and ends the turn when the result arrives. */
const callOnce = (name: string, input: string) =>
  function* (hasResult: boolean): Iterable<string> {
    if (hasResult) yield chunk('{"content":"done"}') + end("stop");
    else yield call(name, input) + end("tool_calls");
  };

const done = chunk('{"content":"done"}') + chunk("{}", '"stop"');

const choices = (count: number, choice = "{}") =>
  event(`{"id":"1","object":"chat.completion.chunk","choices":[${`${choice},`.repeat(count - 1)}${choice}]}`);

const deep = (depth: number) => `{"x":${"[".repeat(depth)}${"]".repeat(depth)}}`;

export interface HostileModel {
  /** Returns the response. `hasResult` is true if the conversation contains the result of a call. */
  answer(hasResult: boolean): Iterable<string>;
  /** Matches the end of the run: its error code and message, or SUCCEEDED and the result of the call. */
  expected: RegExp;
}

/** All models, by name. The first one is harmless, which proves that such models work. */
export const answers: Record<string, HostileModel> = {
  "no-attack": {
    answer: callOnce("run_command", '{"command":"echo ordinary"}'),
    expected: /^SUCCEEDED: .*ordinary/s,
  },
  "input-200-levels-deep": {
    answer: callOnce("nosuch", deep(200)),
    expected: /^SUCCEEDED: The input is nested deeper than 40 levels\./,
  },
  "input-200000-levels-deep": {
    answer: callOnce("update_plan", deep(200_000)),
    expected: /^SUCCEEDED: The input is nested deeper than 40 levels\./,
  },
  "input-with-50000-invalid-items": {
    answer: callOnce("update_plan", `{"steps":[${"{},".repeat(49_999)}{}]}`),
    expected: /^SUCCEEDED: The input contains more than 5000 values\./,
  },
  "input-with-prototype": {
    answer: callOnce("nosuch", '{"__proto__":{"a":1},"constructor":{"prototype":{}}}'),
    expected: /^SUCCEEDED: There is no tool nosuch: /,
  },
  "unstorable-tool-name": {
    answer: callOnce("\\ud800\\u0000", '{"\\ud800":"\\u0000"}'),
    expected: /^SUCCEEDED: There is no tool \ufffd\ufffd: /,
  },
  "a-million-choices": {
    answer: () => [choices(1_000_000), end("stop")],
    expected: /^model_error: .* has an event that contains more than 30000 values\.$/,
  },
  "a-million-choices-after-a-carriage-return": {
    // The quote in the comment must not make the choices look like a string.
    answer: () => [`:"\r${choices(1_000_000)}`, end("stop")],
    expected: /^model_error: .* has an event that contains more than 30000 values\.$/,
  },
  "40000-invalid-choices": {
    answer: () => [choices(40_000, "1"), end("stop")],
    expected: /^model_error: .* has an event that contains more than 30000 values\.$/,
  },
  "line-without-end": {
    *answer() {
      for (let megabyte = 0; megabyte < 64; megabyte++) yield "x".repeat(2 ** 20);
    },
    expected: /^model_error: .* has an event of more than 16777216 bytes\.$/,
  },
  "text-of-10-mb": {
    *answer() {
      for (let piece = 0; piece < 10_000; piece++) yield chunk(`{"content":"${"x".repeat(1_000)}"}`);
      yield end("stop");
    },
    expected: /^model_error: .* has more than 2000000 characters\.$/,
  },
  "1000-tool-calls": {
    *answer() {
      for (let index = 0; index < 1_000; index++) {
        yield chunk(
          `{"tool_calls":[{"index":${index},"id":"${index}","type":"function","function":{"name":"nosuch","arguments":"{}"}}]}`,
        );
      }
      yield end("tool_calls");
    },
    expected: /^model_error: .* contains more than 200 tool calls\.$/,
  },
  "absurd-usage": { answer: () => [done, usage("1e300"), event("[DONE]")], expected: /^SUCCEEDED: $/ },
  "negative-usage": { answer: () => [done, usage("-1.5"), event("[DONE]")], expected: /^SUCCEEDED: $/ },
};
