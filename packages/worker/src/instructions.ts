import type { Guide } from "@outrider/agent/instructions/guides";
import type { Place } from "@outrider/agent/instructions/place";
import type { CheckedOut } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import { quoted } from "./quoted.ts";
import { own } from "./sandboxes/bubblewrap.ts";
import { firstBytes } from "./sandboxes/output.ts";
import type { Sandbox } from "./sandboxes/sandbox.ts";

const LOOK_MS = 30_000;
const ANSWER_BYTES = 2 * 2 ** 20;
/** A little more than the instructions show, so that it is known where they cut. */
const FILE_BYTES = 64 * 1024;
const MORE = 200;

const looked =
  "git node npm pnpm yarn bun deno python3 pip uv go cargo java mvn gradle ruby php gcc clang make cmake rg jq curl";

/**
 * Tells about the sandbox what the instructions say of it, in one command. The repositories' files are read as they are in
 * the commits that the run began with: what the agent has changed since does not change its instructions. Links are
 * followed by git, within the commit. Every field ends with a NUL, which none of them can hold.
 */
const script = `
export GIT_OPTIONAL_LOCKS=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_NO_REPLACE_OBJECTS=1
git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c safe.directory='*' "$@"; }
say() { printf '%s\\0' "$@"; }
( . /etc/os-release && say system "$PRETTY_NAME" "" "" ) 2> /dev/null
for program in ${looked}; do
  if command -v "$program" > /dev/null; then say program "$program" "" ""; fi
done
while [[ $# -gt 0 ]]; do
  path=$1 commit=$2
  shift 2
  if ! cd "/workspace/$path" 2> /dev/null || ! git cat-file -e "$commit" 2> /dev/null; then say lost "$path" "" ""; continue; fi
  for name in AGENTS.md CLAUDE.md; do
    read -r id type size < <(printf '%s:%s\\n' "$commit" "$name" | git cat-file --batch-check --follow-symlinks)
    if [[ $id == symlink ]]; then say outside "$path" "$name" ""; break; fi
    if [[ $type != blob ]]; then continue; fi
    say file "$path" "$name"
    printf '%s\\n' "$size"
    git cat-file blob "$id" | head -c ${FILE_BYTES} | tr -d '\\0'
    printf '\\0'
    break
  done
  git ls-tree -r -z --name-only --full-tree "$commit" | grep -zE '/(AGENTS|CLAUDE)\\.md$' | head -z -n ${MORE} |
    while IFS= read -r -d '' name; do say more "$path" "$name" ""; done
done
true
`;

export interface Surroundings {
  system?: string;
  programs: string[];
  guides: Guide[];
}

/** What stands in an open sandbox. Rejects where it cannot be asked. */
export async function lookAround(
  sandbox: Sandbox,
  { repositories, signal }: { repositories: readonly CheckedOut[]; signal: AbortSignal },
): Promise<Surroundings> {
  const words = repositories.flatMap(({ path, commit }) => [path, commit]).map(quoted);
  const within = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
  const command = await sandbox.spawn(`set -- ${words.join(" ")}\n${script}`, { signal: within });
  command.stdin.end();
  const [answer, complaint, { exitCode }] = await Promise.all([
    firstBytes(command.stdout, ANSWER_BYTES),
    firstBytes(command.stderr, 500),
    command.ended,
  ]);
  if (exitCode !== 0) throw new Error(complaint.toString().trim() || `exit code ${exitCode ?? "none"}`);
  return readAnswer(answer.toString(), repositories);
}

function readAnswer(answer: string, repositories: readonly CheckedOut[]): Surroundings {
  const guides = new Map(
    repositories.map(({ path }) => [path, { folder: folderOf(path), more: [] as string[] }]),
  );
  const notes = new Map<string, Partial<Guide>>();
  const found: Surroundings = { programs: [], guides: [] };
  const fields = answer.split("\0");
  for (let at = 0; at + 4 <= fields.length; at += 4) {
    const [kind, path = "", name = "", content = ""] = fields.slice(at, at + 4);
    if (kind === "system") found.system = path;
    if (kind === "program") found.programs.push(path);
    if (kind === "more") guides.get(path)?.more.push(name);
    if (kind === "file") notes.set(path, { file: fileOf(name, content) });
    if (kind === "outside") notes.set(path, { problem: outsideText(path, name) });
    if (kind === "lost") notes.set(path, { problem: lostText(path) });
  }
  for (const [path, guide] of guides) {
    const note = notes.get(path);
    if (note || guide.more.length > 0)
      found.guides.push({ ...guide, ...note, more: nearestOnly(guide.more) });
  }
  return found;
}

/** A folder's CLAUDE.md counts only where it has no AGENTS.md. */
function nearestOnly(paths: string[]): string[] {
  const all = new Set(paths);
  return paths.filter(
    (path) => !all.has(path.replace(/CLAUDE\.md$/, "AGENTS.md")) || path.endsWith("AGENTS.md"),
  );
}

function fileOf(name: string, content: string) {
  const end = content.indexOf("\n");
  return { name, bytes: Number(content.slice(0, end)), text: content.slice(end + 1) };
}

const folderOf = (path: string) => (path === "." ? own.workspace : `${own.workspace}/${path}`);

const outsideText = (path: string, name: string) =>
  `${folderOf(path)}/${name} is a link that leads out of its repository, and was not read.`;
const lostText = (path: string) =>
  `What ${folderOf(path)} tells agents cannot be read: the commit that the run began with is gone from it.`;

/** What is known of a run's place without asking the sandbox. */
export function placeOf(
  assignment: Assignment,
  { repositories, system, programs }: { repositories: readonly CheckedOut[] } & Partial<Surroundings>,
): Place {
  const { environment, variables, secrets, limits } = assignment;
  const { max_steps, max_cost_usd, timeout_ms } = limits;
  return {
    workspace: own.workspace,
    home: own.home,
    system,
    programs,
    repositories,
    network: environment?.network ?? { mode: "none" },
    variables: Object.keys(variables),
    secrets: Object.keys(secrets),
    limits: { max_steps, max_cost_usd, timeout_minutes: Math.ceil(timeout_ms / 60_000) },
    date: new Date().toISOString().slice(0, 10),
  };
}
