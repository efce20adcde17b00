import type { Readable } from "node:stream";
import { firstBytes } from "../../sandboxes/first-bytes.ts";
import { sandboxPaths } from "../../sandboxes/paths.ts";
import type { Sandbox, ScriptPaths, Spawned } from "../../sandboxes/sandbox.ts";

/** Folders that the inspection script uses. Relative ones are in the temporary folder of the script. */
export function inspectionPaths({ state, layers }: ScriptPaths) {
  const { workspace } = sandboxPaths;
  return {
    workspace,
    /** Contains all files that differ from the base. */
    changed: layers ? `${layers.upper}${workspace}` : workspace,
    base: layers ? `${layers.lower}${workspace}` : "/dev/null",
    saved: `${state}/files`,
    before: "a",
    after: "b",
  };
}

/**
 * A script with a few tools that inspect a workspace's files. One process in the sandbox runs them one at a time.
 *
 * Protocol: a request is a line (input size, tool, arguments) followed by the input. Input and results are
 * NUL-terminated names. A result ends with an empty name.
 *
 * The workspace may be hostile. The script uses nothing from /tmp or from the agent's home, only a folder in the
 * private /dev/shm of the worker's scripts. The folder of a script that was killed is removed by the next one. Git is
 * prevented from running programs that a repository configures.
 */
const scriptOf = (paths: ReturnType<typeof inspectionPaths>) => `
for temp in /dev/shm/inspection-*; do [[ -d /proc/\${temp##*-} ]] || rm -rf "$temp"; done
temp=/dev/shm/inspection-$$
mkdir -p $temp
export LC_ALL=C HOME=$temp GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_OPTIONAL_LOCKS=0
input=$temp/given
# A file that grows while it is copied must not fill the disk.
ulimit -f 65536
git() { command git -c core.fsmonitor=false -c core.quotePath=false -c safe.directory='*' "$@"; }
# Prints type, inode, size, change time and name. Type x is an unreadable folder and u an unreadable file.
list() {
  local format='%i %s %C@ %P\\0' skipped=() folder
  while IFS= read -r -d "" folder; do skipped+=(-path "$folder" -prune -o); done < $input
  cd "$1" && find . -name .git -prune -o "\${skipped[@]}" \\
    -type d "(" ! -readable -o ! -executable ")" -printf "x $format" -prune -o \\
    -type f ! -readable -printf "u $format" -o -type d,f,l -printf "%y $format" | head -z -n "$2"
}
# Prints all files of the base in these folders that no longer exist.
missing() {
  names() {
    cd "$1" && xargs -0 -r -a $input sh -c '
      find "$@" -mindepth 1 -maxdepth 1 -name .git -o -type d -printf "d%p\\0" -o -printf "f%p\\0"' sh | sort -z
  }
  comm -z -23 <(names ${paths.base}) <(names ${paths.workspace}) | cut -z -b 2- > $temp/missing
  cd ${paths.base} && xargs -0 -r -a $temp/missing sh -c '
    find "$@" -name .git -prune -o -type f,l -print0' sh | head -z -n "$1"
}
sizes() {
  cd "$1" && xargs -0 -r -a $input sh -c 'find "$@" -maxdepth 0 -type f,l -printf "%s %p\\0"' sh
}
repositories() {
  local folder
  while IFS= read -r -d "" folder; do
    if [[ -e ${paths.workspace}/$folder/.git ]]; then printf "%s\\0" "$folder"; fi
  done < $input
}
ignored() {
  local repository
  IFS= read -r -d "" repository < $input
  cd "${paths.workspace}/$repository" && tail -z -n +2 $input | git check-ignore -z --stdin
}
forget() { cd "$1" 2> /dev/null && xargs -0 -r -a $input rm -rf --; }
copy() {
  if [[ $2 != /* ]]; then set -- "$1" "$temp/$2"; fi
  [[ -d $2 ]] || mkdir -p "$2"
  tar -C "$1" --no-recursion --ignore-failed-read --null --verbatim-files-from -T $input -cf - | tar -C "$2" -xf -
  if ((PIPESTATUS[1])); then printf "failed\\0"; fi
}
diff() {
  cd $temp && mkdir -p a b
  git diff --no-index --no-prefix --no-renames --no-color --no-ext-diff --no-textconv a b
  if (($? > 1)); then exit 3; fi
}
while read -r size tool first second; do
  head -c "$size" > $input
  $tool "$first" "$second" < /dev/null 2> $temp/stderr
  printf "\\0"
done
`;

type Tool = "list" | "missing" | "sizes" | "repositories" | "ignored" | "forget" | "copy" | "diff";

/**
 * A running inspection script. Names are latin1 strings with one character per byte, because file names need not be
 * UTF-8.
 */
export class Inspection {
  readonly paths: ReturnType<typeof inspectionPaths>;
  readonly #command: Spawned;
  readonly #chunks: AsyncIterator<Buffer>;
  #rest = "";

  private constructor(command: Spawned, paths: Inspection["paths"]) {
    this.paths = paths;
    this.#command = command;
    this.#chunks = command.stdout.iterator({ destroyOnReturn: false });
    command.stderr.resume();
  }

  static async start(sandbox: Sandbox, signal: AbortSignal): Promise<Inspection> {
    const paths = inspectionPaths(sandbox.scriptPaths);
    return new Inspection(await sandbox.inspect(scriptOf(paths), { signal }), paths);
  }

  async run(tool: Exclude<Tool, "diff">, input: string[], ...args: string[]): Promise<string[]> {
    this.#send(tool, input, args);
    const names: string[] = [];
    for (;;) {
      const parts = this.#rest.split("\0");
      this.#rest = parts.pop() as string;
      const end = parts.indexOf("");
      names.push(...(end < 0 ? parts : parts.slice(0, end)));
      if (end >= 0) return names;
      const { value, done } = await this.#chunks.next();
      if (done) throw new Error("The inspection script ended early.");
      this.#rest += value.toString("latin1");
    }
  }

  /**
   * Compares the staged files with git and returns at most `limit` + 1 bytes of its output. This must be the last
   * request.
   */
  async diff(limit: number): Promise<string> {
    this.#send("diff", [], []);
    this.#command.stdin.end();
    const [text, { exitCode }] = await Promise.all([
      firstBytes(this.#command.stdout as Readable, limit + 1),
      this.#command.ended,
    ]);
    if (exitCode !== 0) throw new Error("git diff failed.");
    return text.toString("latin1").replace(/\0$/, "");
  }

  async end(): Promise<void> {
    await this.#command.kill();
    this.#command.stdout.destroy();
  }

  #send(tool: Tool, names: string[], args: string[]) {
    const input = names.map((name) => `${name}\0`).join("");
    this.#command.stdin.write(`${input.length} ${tool} ${args.join(" ")}\n${input}`, "latin1");
  }
}
