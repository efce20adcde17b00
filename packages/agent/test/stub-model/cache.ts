import type { Heard } from "./dialect.ts";

/** What a provider has read before it need not read again: the beginning that a request shares with the last one. */
export class PromptCache {
  private readonly last = new Map<string, string[]>();

  /** How many bytes it has read before. */
  hit({ model, tools, messages }: Heard): number {
    const parts = [tools, ...messages].map((part) => JSON.stringify(part));
    const before = this.last.get(model) ?? [];
    this.last.set(model, parts);
    let bytes = 0;
    for (const [index, part] of parts.entries()) {
      if (part !== before[index]) break;
      bytes += part.length;
    }
    return bytes;
  }
}
