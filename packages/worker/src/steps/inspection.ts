import type { Readable } from "node:stream";
import { keptPlace, layerPlaces } from "../sandboxes/difference.ts";
import { firstBytes } from "../sandboxes/output.ts";
import type { Sandbox, Spawned } from "../sandboxes/sandbox.ts";

const staged = "/dev/shm";

/** Where files are, for the inspecting script. */
export const places = {
  workspace: "/workspace",
  upper: `${layerPlaces.upper}/workspace`,
  base: `${layerPlaces.lower}/workspace`,
  kept: `${keptPlace}/files`,
  before: `${staged}/a`,
  after: `${staged}/b`,
} as const;

/**
 * A few tools on the files of a workspace, run one after the other by one command inside. A request is a line (the size
 * of its input, the tool, its arguments) and the input; an answer ends with an empty name. Input and answers are names
 * that end with a NUL. Nothing in /tmp or in the agent's home has a say: what it works with is in the memory of this
 * one command. Git runs nothing that the configuration of a repository names.
 */
const script = `
export LC_ALL=C HOME=${staged} GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_OPTIONAL_LOCKS=0
given=${staged}/given
# A file that grows while it is copied must not fill the disk.
ulimit -f 65536
git() { command git -c core.fsmonitor=false -c core.quotePath=false -c safe.directory='*' "$@"; }
# Kind, inode, size, time of the last change and name. x is a folder and u a file that cannot be looked into.
list() {
  local format='%i %s %C@ %P\\0' skipped=() folder
  while IFS= read -r -d "" folder; do skipped+=(-path "$folder" -prune -o); done < $given
  cd "$1" && find . -name .git -prune -o "\${skipped[@]}" \\
    -type d "(" ! -readable -o ! -executable ")" -printf "x $format" -prune -o \\
    -type f ! -readable -printf "u $format" -o -type d,f,l -printf "%y $format" | head -z -n "$2"
}
# All files of the base that stood in these folders and stand there no more.
missing() {
  names() {
    cd "$1" && xargs -0 -r -a $given sh -c '
      find "$@" -mindepth 1 -maxdepth 1 -name .git -o -type d -printf "d%p\\0" -o -printf "f%p\\0"' sh | sort -z
  }
  comm -z -23 <(names ${places.base}) <(names ${places.workspace}) | cut -z -b 2- > ${staged}/missing
  cd ${places.base} && xargs -0 -r -a ${staged}/missing sh -c '
    find "$@" -name .git -prune -o -type f,l -print0' sh | head -z -n "$1"
}
sizes() {
  cd "$1" && xargs -0 -r -a $given sh -c 'find "$@" -maxdepth 0 -type f,l -printf "%s %p\\0"' sh
}
repositories() {
  local folder
  while IFS= read -r -d "" folder; do
    if [[ -e ${places.workspace}/$folder/.git ]]; then printf "%s\\0" "$folder"; fi
  done < $given
}
ignored() {
  local repository
  IFS= read -r -d "" repository < $given
  cd "${places.workspace}/$repository" && tail -z -n +2 $given | git check-ignore -z --stdin
}
forget() { cd "$1" 2> /dev/null && xargs -0 -r -a $given rm -rf --; }
copy() {
  [[ -d $2 ]] || mkdir -p "$2"
  tar -C "$1" --no-recursion --ignore-failed-read --null --verbatim-files-from -T $given -cf - | tar -C "$2" -xf -
  if ((PIPESTATUS[1])); then printf "failed\\0"; fi
}
diff() {
  cd ${staged} && mkdir -p a b
  git diff --no-index --no-prefix --no-renames --no-color --no-ext-diff --no-textconv a b
  if (($? > 1)); then exit 3; fi
}
while read -r size tool first second; do
  head -c "$size" > $given
  $tool "$first" "$second" < /dev/null 2> ${staged}/complaint
  printf "\\0"
done
`;

type Tool = "list" | "missing" | "sizes" | "repositories" | "ignored" | "forget" | "copy" | "diff";

/** Names are strings with a byte in each character, since not all that Linux takes for a name is text. */
export class Inspection {
  private readonly command: Spawned;
  private readonly chunks: AsyncIterator<Buffer>;
  private rest = "";

  private constructor(command: Spawned) {
    this.command = command;
    this.chunks = command.stdout.iterator({ destroyOnReturn: false });
    command.stderr.resume();
  }

  static async begin(sandbox: Sandbox, signal: AbortSignal): Promise<Inspection> {
    return new Inspection(await sandbox.inspect(script, { signal }));
  }

  async ask(tool: Exclude<Tool, "diff">, names: string[], ...args: string[]): Promise<string[]> {
    this.send(tool, names, args);
    const answer: string[] = [];
    for (;;) {
      const parts = this.rest.split("\0");
      this.rest = parts.pop() as string;
      const end = parts.indexOf("");
      answer.push(...(end < 0 ? parts : parts.slice(0, end)));
      if (end >= 0) return answer;
      const { value, done } = await this.chunks.next();
      if (done) throw new Error("The command that looks for changes has ended early.");
      this.rest += value.toString("latin1");
    }
  }

  /** What git says about the files before and after, at most so many bytes of it; the last thing to be asked for. */
  async diff(limit: number): Promise<string> {
    this.send("diff", [], []);
    this.command.stdin.end();
    const [text, { exitCode }] = await Promise.all([
      firstBytes(this.command.stdout as Readable, limit + 1),
      this.command.ended,
    ]);
    if (exitCode !== 0) throw new Error("git cannot tell what differs.");
    return text.toString("latin1").replace(/\0$/, "");
  }

  async end(): Promise<void> {
    await this.command.kill();
    this.command.stdout.destroy();
  }

  private send(tool: Tool, names: string[], args: string[]) {
    const input = names.map((name) => `${name}\0`).join("");
    this.command.stdin.write(`${input.length} ${tool} ${args.join(" ")}\n${input}`, "latin1");
  }
}
