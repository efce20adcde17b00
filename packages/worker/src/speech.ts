import type { Redactor, StreamRedactor } from "./redact.ts";

/** Words that come within this time go together: who reads along sees no difference, and each call has its price. */
const GATHER_MS = 40;
/** The most that one delta may hold. */
const DELTA_CHARACTERS = 6_000;

interface SpeechOptions {
  redactor: Redactor;
  tell(text: string): void;
}

/** What the agent is just saying, up to its next event. */
export class Speech {
  private readonly options: SpeechOptions;
  private words: StreamRedactor;
  private unsaid = "";
  private timer: NodeJS.Timeout | undefined;

  constructor(options: SpeechOptions) {
    this.options = options;
    this.words = options.redactor.stream();
  }

  say(text: string) {
    this.unsaid += this.words.push(text);
    this.timer ??= setTimeout(() => this.tell(), GATHER_MS);
  }

  /** The next event is on its way. It holds all that was said, so nobody needs the rest of it in parts. */
  end() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.unsaid = "";
    this.words = this.options.redactor.stream();
  }

  private tell() {
    this.timer = undefined;
    const text = this.unsaid;
    this.unsaid = "";
    for (let at = 0; at < text.length; at += DELTA_CHARACTERS) {
      this.options.tell(text.slice(at, at + DELTA_CHARACTERS));
    }
  }
}
