import type { ModelSource } from "./model-source.ts";
import { answerScripted } from "./scripted/answer-scripted.ts";

/** The scripted model, which answers in all formats. */
export const scriptedSource: ModelSource = {
  async call({ format, requestPath: path, body, signal }) {
    const answer = await answerScripted(format.name, { path, body }, { signal });
    return { ...answer, body: encode(answer.body) };
  },
};

async function* encode(body: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of body) yield Buffer.from(text);
}
