const ENTER = [10, 13];
const [TILDE, DOT] = [126, 46];

/** Finds `~.` at the beginning of a line in what the user types, as in ssh. `~~` stands for one `~`. */
export class EscapeSequence {
  #isLineStart = true;
  #hasTilde = false;

  /** Returns the bytes to send, and whether the user wants to disconnect. */
  read(typed: Uint8Array): { bytes: Buffer; isDisconnect: boolean } {
    const bytes: number[] = [];
    for (const byte of typed) {
      if (this.#hasTilde && byte === DOT) return { bytes: Buffer.from(bytes), isDisconnect: true };
      if (!this.#hasTilde && this.#isLineStart && byte === TILDE) {
        this.#hasTilde = true;
        continue;
      }
      if (this.#hasTilde && byte !== TILDE) bytes.push(TILDE);
      this.#hasTilde = false;
      bytes.push(byte);
      this.#isLineStart = ENTER.includes(byte);
    }
    return { bytes: Buffer.from(bytes), isDisconnect: false };
  }
}
