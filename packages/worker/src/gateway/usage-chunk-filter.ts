import { parseLine } from "./event-reader.ts";
import { isUsageChunk } from "./formats/openai-chat.ts";

const LINE_FEED = 10;

/**
 * Removes the chunk with the usage from a stream of Chat Completions, for an agent that has not asked for it. Everything
 * else passes unchanged, one line at a time.
 */
export class UsageChunkFilter {
  #partial: Uint8Array[] = [];
  #isSkippingBlank = false;

  push(chunk: Uint8Array): Uint8Array {
    const end = chunk.lastIndexOf(LINE_FEED);
    if (end < 0) {
      this.#partial.push(chunk);
      return new Uint8Array();
    }
    const lines = Buffer.concat([...this.#partial, chunk.subarray(0, end + 1)]);
    this.#partial = end + 1 < chunk.length ? [chunk.subarray(end + 1)] : [];
    return lines.includes('"usage"') || this.#isSkippingBlank ? this.#filter(lines) : lines;
  }

  /** Returns what follows the last line. */
  end(): Uint8Array {
    return Buffer.concat(this.#partial);
  }

  #filter(lines: Buffer): Buffer {
    const kept = lines
      .toString("latin1")
      .split(/(?<=\n)/)
      .filter((line) => {
        if (this.#isSkippingBlank && line.trim() === "") return false;
        const event = line.includes('"usage"') ? parseLine(line) : undefined;
        this.#isSkippingBlank = event !== undefined && isUsageChunk(event);
        return !this.#isSkippingBlank;
      });
    return Buffer.from(kept.join(""), "latin1");
  }
}
