import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Failure } from "@outrider/agent/failure";
import { firstBytes } from "../sandboxes/first-bytes.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";

const SEARCH_MS = 30 * 60_000;
/** A path has at most 4,096 bytes. */
const OUTPUT_BYTES = 8_192;
const ERROR_BYTES = 1_000;
/** Shorter text could occur in ordinary files. */
const MIN_PATTERN_CHARACTERS = 8;
/** `base64` breaks lines after 76 characters, and grep matches within lines. */
const BASE64_CHARACTERS = 60;

/**
 * What a build stores. With an image in a local sandbox, that is the upper layer, which contains the workspace and the home
 * too. A container does not show its changes to the system to scripts, so they arrive as an archive.
 */
const folders = [`${sandboxPaths.workspace}/`, `${sandboxPaths.home}/`];
const upper = "/.outrider/upper";
const unpacked = "/tmp/outrider-system";

/**
 * Reads the patterns from stdin, one group per secret, each terminated by NUL, so that they appear on no command line. An
 * empty group ends them. The archive of the changes to the system follows, if there is one.
 * Prints the index of a secret and the path of the first file that contains it, or nothing. Files that cannot be read
 * are an error, because they could contain a secret.
 */
const searchScript = ({ hasArchive }: { hasArchive: boolean }) => `
export LC_ALL=C
folders=(${folders.join(" ")})
[[ ! -d ${upper} ]] || folders=(${upper})
groups=()
while IFS= read -r -d '' group && [[ -n $group ]]; do groups+=("$group"); done
${hasArchive ? unpackLines : ""}
exec 3< <(exec grep -rlZF -D skip -f <(printf '%s\\n' "\${groups[@]}") -- "\${folders[@]}")
search=$!
if IFS= read -r -d '' file <&3; then
  for index in "\${!groups[@]}"; do
    if grep -qF -f <(printf '%s\\n' "\${groups[index]}") -- "$file"; then
      printf '%s\\0%s' "$index" "$file"
      exit 0
    fi
  done
fi
wait "$search"
(($? == 1))
`;

/** The files need no owners and modes to be searched. */
const unpackLines = `
folders+=(${unpacked})
trap 'rm -rf ${unpacked}' EXIT
mkdir -m 700 ${unpacked} && tar -C ${unpacked} --no-same-owner --no-same-permissions -xf - || exit 2
`;

/**
 * Rejects with a Failure if a file that the build stores contains the value of a secret, as it is or in base64. Nothing
 * may be running in the sandbox, because it could still write files.
 */
export async function rejectLeftoverSecrets(
  sandbox: Sandbox,
  secrets: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const searched = Object.entries(secrets)
    .map(([name, value]) => ({ name, patterns: patternsOf(value) }))
    .filter(({ patterns }) => patterns.length > 0);
  if (searched.length === 0) return;
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(SEARCH_MS)]);
  const changes = await sandbox.readSystemChanges?.({ signal: timeout });
  changes?.on("error", () => {}); // reported when it is read
  const script = searchScript({ hasArchive: changes !== undefined });
  const search = await sandbox.inspect(script, { signal: timeout }).catch((error) => {
    changes?.destroy();
    throw error;
  });
  const patterns = `${searched.map((each) => `${each.patterns.join("\n")}\0`).join("")}\0`;
  const [output, stderr, { exitCode }, sent] = await Promise.all([
    firstBytes(search.stdout, OUTPUT_BYTES),
    firstBytes(search.stderr, ERROR_BYTES),
    search.ended,
    send(search.stdin, patterns, changes),
  ]);
  signal.throwIfAborted();
  const [index = "", path = ""] = output.toString().split("\0");
  const found = path === "" ? undefined : searched[Number(index)];
  if (found) {
    throw new Failure(
      "environment_setup_failed",
      `\`${found.name}\` is in \`${shortPath(path)}\`. Secrets must not stay in the build: delete the file in the last setup command.`,
    );
  }
  if (sent instanceof Error) throw sent;
  if (exitCode === 0) return;
  const reason = stderr.toString().split("\n")[0] || `exit code ${exitCode ?? "none (killed)"}`;
  throw new Failure(
    "environment_setup_failed",
    `Cannot search the build's files for secrets: ${reason}. Make all files readable in the last setup command, or delete them.`,
  );
}

/**
 * Returns an error if the archive could not be read. The script itself can end before it has read everything, for example
 * if the sandbox is killed.
 */
async function send(
  stdin: Writable,
  patterns: string,
  archive: Readable | undefined,
): Promise<Error | undefined> {
  let failure: Error | undefined;
  stdin.on("error", () => {});
  stdin.write(patterns);
  await pipeline(async function* () {
    try {
      if (archive) yield* archive;
    } catch (error) {
      failure = error as Error;
      throw error;
    }
  }, stdin).catch(() => {});
  return failure;
}

/**
 * Returns what to search for, without line breaks. A value with several lines is recognized by its longest one; the last
 * of them if there are several, because the first line of a private key is almost the same in other keys.
 */
function patternsOf(secret: string): string[] {
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  const line = lines.reduce((longest, next) => (next.length >= longest.length ? next : longest));
  if (line.length < MIN_PATTERN_CHARACTERS) return [];
  const bytes = Buffer.from(line);
  const encoded = [0, 1, 2].map((position) => base64At(position, bytes).slice(0, BASE64_CHARACTERS));
  const urlSafe = encoded.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const quoted = JSON.stringify(line).slice(1, -1);
  return [...new Set([line, quoted, encodeURIComponent(line), ...encoded, ...urlSafe])];
}

/**
 * Returns the characters that base64 text contains for these bytes, whatever the bytes around them are. `position` is the
 * number of bytes before them, modulo 3.
 */
function base64At(position: number, bytes: Buffer): string {
  const padded = Buffer.concat([Buffer.alloc(position), bytes]);
  const start = Math.ceil((position * 8) / 6);
  return padded.toString("base64").slice(start, Math.floor((padded.length * 8) / 6));
}

function shortPath(path: string): string {
  const { workspace, home } = sandboxPaths;
  for (const folder of [upper, unpacked])
    if (path.startsWith(`${folder}/`)) return shortPath(path.slice(folder.length));
  if (path.startsWith(`${workspace}/`)) return path.slice(workspace.length + 1);
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
