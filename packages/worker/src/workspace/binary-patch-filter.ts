import { Transform } from "node:stream";
import type { ByteStream, Redactor } from "../redaction/redact.ts";

const lineFeed = 10;
/** Longer lines are file content. The longest other line has two quoted paths. */
const MAX_HEADER_BYTES = 64 * 1024;

const OMITTED = "The content of this binary file is omitted, because it contains a secret.\n";

/**
 * Removes the content of binary files that contain a secret from a patch.
 *
 * The input starts with the files, as `git cat-file --batch` prints them, followed by the line `patch` and the patch
 * itself. The patch names the two versions of a file by their hashes. Instead of the content, the output contains the
 * line that git prints for binary files by default, and a sentence. `git apply` ignores the sentence; it can apply the
 * other files with `--exclude`.
 */
export class BinaryPatchFilter extends Transform {
  readonly #blobs: BlobReader;
  readonly #patch: PatchReader;
  #isPatch = false;

  constructor(redactor: Redactor) {
    super();
    const withSecret = new Set<string>();
    this.#blobs = new BlobReader(redactor, withSecret);
    this.#patch = new PatchReader(withSecret);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void) {
    try {
      const rest = this.#isPatch ? chunk : this.#blobs.read(chunk);
      this.#isPatch ||= rest !== undefined;
      if (rest) this.push(this.#patch.read(rest));
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  override _flush(done: () => void) {
    this.push(this.#patch.end());
    done();
  }
}

/** A file that is being read. */
interface Blob {
  hash: string;
  bytesLeft: number;
  scan: ByteStream;
}

/** Reads the output of `git cat-file --batch` and collects the hashes of the files that contain a secret. */
class BlobReader {
  readonly #redactor: Redactor;
  readonly #withSecret: Set<string>;
  #header = "";
  #blob: Blob | undefined;

  constructor(redactor: Redactor, withSecret: Set<string>) {
    this.#redactor = redactor;
    this.#withSecret = withSecret;
  }

  /** Returns what follows the files, or undefined if more of them may follow. */
  read(chunk: Buffer): Buffer | undefined {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#blob) {
        const content = rest.subarray(0, this.#blob.bytesLeft);
        this.#blob.scan.push(content);
        this.#blob.bytesLeft -= content.length;
        rest = rest.subarray(content.length);
        if (this.#blob.bytesLeft === 0) this.#endBlob(this.#blob);
        continue;
      }
      const end = rest.indexOf(lineFeed);
      this.#header += rest.subarray(0, end < 0 ? rest.length : end).toString("latin1");
      if (end < 0) return undefined;
      rest = rest.subarray(end + 1);
      const header = this.#header;
      this.#header = "";
      if (header === "patch") return rest;
      // The content is followed by a line break, which leaves an empty line.
      if (header !== "") this.#beginBlob(header);
    }
    return undefined;
  }

  #beginBlob(header: string) {
    const [hash = "", type, size = ""] = header.split(" ");
    // A file that cannot be read cannot be searched for secrets.
    if (type === "missing") this.#withSecret.add(hash);
    else if (!/^\d+$/.test(size)) throw new Error("git cat-file printed an unexpected line.");
    else if (size !== "0") this.#blob = { hash, bytesLeft: Number(size), scan: this.#redactor.byteStream() };
  }

  #endBlob({ hash, scan }: Blob) {
    scan.end();
    if (scan.hasFound) this.#withSecret.add(hash);
    this.#blob = undefined;
  }
}

/** Reads a patch and returns it without the content of binary files that contain a secret. */
class PatchReader {
  readonly #withSecret: Set<string>;
  #passed: Buffer[] = [];
  /** The beginning of a line that may be part of a file's header. */
  #incomplete: Buffer = Buffer.alloc(0);
  #isLineStart = true;
  #names = { before: "", after: "" };
  #hasSecret = false;
  #isOmitting = false;

  constructor(withSecret: Set<string>) {
    this.#withSecret = withSecret;
  }

  read(chunk: Buffer): Buffer {
    let rest = this.#incomplete.length > 0 ? Buffer.concat([this.#incomplete, chunk]) : chunk;
    this.#incomplete = Buffer.alloc(0);
    while (rest.length > 0) {
      const lineBreak = rest.indexOf(lineFeed);
      const isComplete = lineBreak >= 0;
      if (!isComplete && this.#isLineStart && rest.length <= MAX_HEADER_BYTES) {
        this.#incomplete = rest;
        break;
      }
      const line = isComplete ? rest.subarray(0, lineBreak + 1) : rest;
      if (this.#isLineStart) this.#readLine(line);
      else this.#pass(line);
      this.#isLineStart = isComplete;
      rest = rest.subarray(line.length);
    }
    return this.#takePassed();
  }

  end(): Buffer {
    if (this.#incomplete.length > 0) this.#readLine(this.#incomplete);
    return this.#takePassed();
  }

  #takePassed(): Buffer {
    const passed = Buffer.concat(this.#passed);
    this.#passed = [];
    return passed;
  }

  #readLine(line: Buffer) {
    // Lines of file content start with a sign or a space, so these are parts of a header.
    if (startsWith(line, "diff --git ")) this.#beginFile(toText(line));
    else if (startsWith(line, "index ")) this.#readHashes(toText(line));
    else if (startsWith(line, "rename from ")) this.#names.before = `a/${nameIn(line, "rename from ")}`;
    else if (startsWith(line, "rename to ")) this.#names.after = `b/${nameIn(line, "rename to ")}`;
    else if (startsWith(line, "new file mode ")) this.#names.before = "/dev/null";
    else if (startsWith(line, "deleted file mode ")) this.#names.after = "/dev/null";
    else if (this.#hasSecret && startsWith(line, "GIT binary patch")) this.#omit();
    this.#pass(line);
  }

  #beginFile(line: string) {
    this.#isOmitting = false;
    this.#hasSecret = false;
    // If the file was not renamed, its two names differ only in their first letter.
    const names = line.slice("diff --git ".length);
    const middle = (names.length - 1) / 2;
    this.#names = { before: names.slice(0, middle), after: names.slice(middle + 1) };
  }

  #readHashes(line: string) {
    const [, before = "", after = ""] = /^index ([0-9a-f]+)\.\.([0-9a-f]+)/.exec(line) ?? [];
    this.#hasSecret = this.#withSecret.has(before) || this.#withSecret.has(after);
  }

  #omit() {
    const { before, after } = this.#names;
    this.#passed.push(Buffer.from(`Binary files ${before} and ${after} differ\n${OMITTED}`, "latin1"));
    this.#isOmitting = true;
  }

  #pass(bytes: Buffer) {
    if (!this.#isOmitting) this.#passed.push(bytes);
  }
}

function startsWith(line: Buffer, words: string): boolean {
  return line[0] === words.charCodeAt(0) && line.toString("latin1", 0, words.length) === words;
}

function nameIn(line: Buffer, words: string): string {
  return toText(line).slice(words.length);
}

/** Returns the line without its line break. Names need not be UTF-8. */
function toText(line: Buffer): string {
  return line.toString("latin1").replace(/\n$/, "");
}
