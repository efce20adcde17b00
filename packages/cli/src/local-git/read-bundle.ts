import { exits, UsageError } from "../exit-codes.ts";

export interface Bundle {
  /** The commit of the bundle's only ref. */
  tip: string;
  /** The commits that the repository must have. */
  prerequisites: string[];
  pack: Uint8Array;
}

const MAX_HEADER_BYTES = 1024 * 1024;
const commit = "[0-9a-f]{40}(?:[0-9a-f]{24})?";

/**
 * Reads a git bundle: a signature, lines with prerequisites and refs, an empty line, and a pack. git's own command for bundles does
 * not check the objects in older versions of git, so the caller passes the pack to `git index-pack`.
 */
export function readBundle(bytes: Uint8Array): Bundle {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = data.subarray(0, MAX_HEADER_BYTES).indexOf("\n\n");
  const [signature, ...lines] = data.subarray(0, Math.max(0, end)).toString("latin1").split("\n");
  const prerequisites: string[] = [];
  const tips: string[] = [];
  for (const line of lines) {
    const [, mark, id, name] = new RegExp(`^(-?)(${commit})(?: (.*))?$`).exec(line) ?? [];
    if (id && mark) prerequisites.push(id);
    else if (id && name) tips.push(id);
    else if (!/^@object-format=/.test(line)) throw invalidBundle();
  }
  if (!/^# v[23] git bundle$/.test(signature ?? "") || tips.length !== 1) throw invalidBundle();
  return { tip: tips[0] as string, prerequisites, pack: data.subarray(end + 2) };
}

function invalidBundle(): UsageError {
  return new UsageError("The server's response is not a git bundle with one ref. Try again later.", {
    exit: exits.server,
  });
}
