import type { ModelSource } from "./model-source.ts";
import { answerScripted, type ScriptedAnswer } from "./scripted/answer-scripted.ts";
import { UpstreamError } from "./upstream-error.ts";

/** The scripted model, which answers in all formats. */
export const scriptedSource: ModelSource = {
  async call({ format, requestPath: path, body, signal }) {
    const answer = await answerScripted(format.name, { path, body }, { signal });
    if (answer.failure) throw new UpstreamError(answer.failure, await read(answer));
    return { ...answer, body: encode(answer.body) };
  },
};

async function read({ status, body }: ScriptedAnswer): Promise<{ status: number; body: string }> {
  let text = "";
  for await (const part of body) text += part;
  return { status, body: text };
}

async function* encode(body: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of body) yield Buffer.from(text);
}
