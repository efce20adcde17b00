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

/** What a build stores. With an image, that is the upper layer, which contains the workspace and the home too. */
const folders = [`${sandboxPaths.workspace}/`, `${sandboxPaths.home}/`];
const upper = "/.outrider/upper";

/**
 * Reads the patterns from stdin, one group per secret, each terminated by NUL, so that they appear on no command line.
 * Prints the index of a secret and the path of the first file that contains it, or nothing. Files that cannot be read
 * are an error, because they could contain a secret.
 */
const searchScript = `
export LC_ALL=C
folders=(${folders.join(" ")})
[[ ! -d ${upper} ]] || folders=(${upper})
groups=()
while IFS= read -r -d '' group; do groups+=("$group"); done
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
  const search = await sandbox.inspect(searchScript, { signal: timeout });
  // The script can end before it has read everything, for example if the sandbox is killed.
  search.stdin.on("error", () => {});
  search.stdin.end(searched.map(({ patterns }) => `${patterns.join("\n")}\0`).join(""));
  const [output, stderr, { exitCode }] = await Promise.all([
    firstBytes(search.stdout, OUTPUT_BYTES),
    firstBytes(search.stderr, ERROR_BYTES),
    search.ended,
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
  if (exitCode === 0) return;
  const reason = stderr.toString().split("\n")[0] || `exit code ${exitCode ?? "none (killed)"}`;
  throw new Failure(
    "environment_setup_failed",
    `Cannot search the build's files for secrets: ${reason}. Make all files readable in the last setup command, or delete them.`,
  );
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
  if (path.startsWith(`${upper}/`)) return shortPath(path.slice(upper.length));
  if (path.startsWith(`${workspace}/`)) return path.slice(workspace.length + 1);
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
