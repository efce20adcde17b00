import { PartialUsage } from "@outrider/agent/models/partial-usage";
import { type CallTokens, callTokens, noTokens } from "@outrider/agent/turn/usage";
import { EventReader } from "./event-reader.ts";
import { asObject, type Format, type Json } from "./formats/format.ts";

const CHARACTERS_PER_TOKEN = 4;

/** Reads the token counts of a response while it passes by. */
export class UsageReader {
  readonly #format: Format;
  readonly #usage = new PartialUsage();
  readonly #events: EventReader | undefined;
  readonly #whole: Uint8Array[] = [];
  #characters = 0;
  #isFinal = false;

  constructor(format: Format, { streams }: { streams: boolean }) {
    this.#format = format;
    this.#events = streams ? new EventReader() : undefined;
  }

  push(chunk: Uint8Array): void {
    if (!this.#events) this.#whole.push(chunk);
    for (const event of this.#events?.push(chunk) ?? []) this.#read(event);
  }

  /**
   * Returns the counts. If the response was cut off before the provider reported them, they are estimated, because the
   * provider charges for such a call as well.
   */
  end({ inputTokens }: { inputTokens: number }): CallTokens {
    if (!this.#events) this.#readWhole();
    const known = this.#usage.read(this.#isFinal ? 0 : this.#characters);
    if (known) return callTokens(known);
    return { ...noTokens, input: inputTokens, output: Math.ceil(this.#characters / CHARACTERS_PER_TOKEN) };
  }

  #readWhole() {
    try {
      this.#read(asObject(JSON.parse(Buffer.concat(this.#whole).toString())));
    } catch {
      // It is incomplete, or it is not JSON at all.
    }
  }

  #read(event: Json) {
    this.#format.readUsage(event, this.#usage);
    this.#isFinal ||= this.#format.isFinal(event);
    this.#characters += this.#format.charactersOf(event);
  }
}
