import type { ParsedRequest } from "./dialect.ts";

/** Simulates prompt caching: a request's common prefix with the previous one is cached. */
export class PromptCache {
  readonly #last = new Map<string, string[]>();

  /** Returns the number of cached bytes. */
  hit({ model, tools, messages }: ParsedRequest): number {
    const parts = [tools, ...messages].map((part) => JSON.stringify(part));
    const before = this.#last.get(model) ?? [];
    this.#last.set(model, parts);
    let bytes = 0;
    for (const [index, part] of parts.entries()) {
      if (part !== before[index]) break;
      bytes += part.length;
    }
    return bytes;
  }
}
