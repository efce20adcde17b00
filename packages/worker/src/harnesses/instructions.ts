import type { EnvironmentFacts } from "@outrider/agent/instructions/environment";
import type { Guide } from "@outrider/agent/instructions/guide-text";
import type { CheckedOutRepository } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import type { ReadyBuild } from "@outrider/contract/worker/build";
import { quote } from "../quote.ts";
import type { Redactor } from "../redaction/redact.ts";
import { firstBytes } from "../sandboxes/first-bytes.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { startCommandsOf } from "../workspace/start-commands.ts";

/** Normally takes less than a second, but a busy machine must not lose the repositories' instructions. */
const INSPECT_MS = 120_000;
const OUTPUT_BYTES = 2 * 2 ** 20;
/** Larger than the part of a file that the instructions include, so that truncation can be detected. */
const FILE_BYTES = 64 * 1024;
const MAX_NESTED_GUIDES = 200;

const programNames =
  "git node npm pnpm yarn bun deno python3 pip uv go cargo java mvn gradle ruby php gcc clang make cmake rg jq curl";

/**
 * Collects everything about the sandbox that the instructions mention, in one command.
 *
 * Repository files are read from the commits that the run started with, so that the agent's changes do not alter its
 * own instructions. Git resolves symbolic links within the commit. Every record has four NUL-terminated fields.
 */
const script = `
export GIT_OPTIONAL_LOCKS=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_NO_REPLACE_OBJECTS=1
git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c safe.directory='*' "$@"; }
# The files of an image, if there is one. Its programs are not executed here.
root=/.outrider/root
[[ -d $root ]] || root=
print() { printf '%s\\0' "$@"; }
system=$(sed -n 's/^PRETTY_NAME=//p' $root/etc/os-release 2> /dev/null | head -c 200 | tr -d '"\\0')
print system "$system" "" ""
IFS=: read -ra folders <<< "$path"
for program in ${programNames}; do
  for folder in "\${folders[@]}"; do
    # In an image, the target of a symbolic link cannot be checked.
    if [[ -x $root$folder/$program || -L $root$folder/$program ]]; then print program "$program" "" ""; break; fi
  done
done
while [[ $# -gt 0 ]]; do
  path=$1 commit=$2
  shift 2
  if ! cd "/workspace/$path" 2> /dev/null || ! git cat-file -e "$commit" 2> /dev/null; then print lost "$path" "" ""; continue; fi
  for name in $names; do
    read -r id type size < <(printf '%s:%s\\n' "$commit" "$name" | git cat-file --batch-check --follow-symlinks)
    if [[ $id == symlink ]]; then print outside "$path" "$name" ""; break; fi
    if [[ $type != blob ]]; then continue; fi
    print file "$path" "$name"
    printf '%s\\n' "$size"
    git cat-file blob "$id" | head -c ${FILE_BYTES} | tr -d '\\0'
    printf '\\0'
    break
  done
  git ls-tree -r -z --name-only --full-tree "$commit" | grep -zE '/(AGENTS|CLAUDE)\\.md$' | head -z -n ${MAX_NESTED_GUIDES} |
    while IFS= read -r -d '' name; do print more "$path" "$name" ""; done
done
true
`;

/** The files with instructions for agents. */
export const guideNames = ["AGENTS.md", "CLAUDE.md"] as const;
export type GuideName = (typeof guideNames)[number];

export interface Surroundings {
  system?: string;
  /** The shell that runs commands, if it is not bash. */
  shell?: string;
  programs: string[];
  guides: Guide[];
}

interface InspectOptions {
  repositories: readonly CheckedOutRepository[];
  /** The names of the file to read from each repository. The first that exists is used. */
  names: readonly GuideName[];
  redactor: Redactor;
  signal: AbortSignal;
}

/** Inspects an open sandbox. Rejects if the inspection fails. */
export async function inspectSandbox(sandbox: Sandbox, options: InspectOptions): Promise<Surroundings> {
  const { repositories, names, redactor, signal } = options;
  const args = repositories.flatMap(({ path, commit }) => [path, commit]).map(quote);
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(INSPECT_MS)]);
  const path = sandbox.commandEnvironment.PATH as string;
  const settings = `path=${quote(path)} names=${quote(names.join(" "))}`;
  const command = await sandbox.inspect(`${settings}\nset -- ${args.join(" ")}\n${script}`, {
    signal: timeout,
  });
  command.stdin.end();
  const [output, stderr, { exitCode }] = await Promise.all([
    firstBytes(command.stdout, OUTPUT_BYTES),
    firstBytes(command.stderr, 500),
    command.ended,
  ]);
  if (exitCode !== 0) throw new Error(stderr.toString().trim() || `exit code ${exitCode ?? "none"}`);
  const { shell } = sandbox;
  const surroundings = parseRecords(output.toString(), repositories, redactor);
  return shell.endsWith("bash") ? surroundings : { ...surroundings, shell };
}

function parseRecords(
  output: string,
  repositories: readonly CheckedOutRepository[],
  redactor: Redactor,
): Surroundings {
  const guides = new Map(
    repositories.map(({ path }) => [path, { folder: folderOf(path), more: [] as string[] }]),
  );
  const notes = new Map<string, Partial<Guide>>();
  const found: Surroundings = { programs: [], guides: [] };
  const fields = output.split("\0");
  for (let index = 0; index + 4 <= fields.length; index += 4) {
    const [kind, path = "", name = "", content = ""] = fields.slice(index, index + 4);
    if (kind === "system") found.system = path;
    if (kind === "program") found.programs.push(path);
    if (kind === "more") guides.get(path)?.more.push(name);
    if (kind === "file") notes.set(path, { file: parseFile(name, content, redactor) });
    if (kind === "outside") notes.set(path, { problem: outsideMessage(path, name) });
    if (kind === "lost") notes.set(path, { problem: lostMessage(path) });
  }
  for (const [path, guide] of guides) {
    const note = notes.get(path);
    if (note || guide.more.length > 0)
      found.guides.push({ ...guide, ...note, more: withoutShadowed(guide.more) });
  }
  return found;
}

/** Omits each CLAUDE.md whose folder also contains an AGENTS.md, because only AGENTS.md is used then. */
function withoutShadowed(paths: string[]): string[] {
  const all = new Set(paths);
  return paths.filter(
    (path) => !all.has(path.replace(/CLAUDE\.md$/, "AGENTS.md")) || path.endsWith("AGENTS.md"),
  );
}

/** Parses a file and redacts it, because the instructions may contain only its beginning. */
function parseFile(name: string, content: string, redactor: Redactor) {
  const end = content.indexOf("\n");
  const original = content.slice(end + 1);
  const text = redactor.redact(original);
  const removedBytes = Buffer.byteLength(original) - Buffer.byteLength(text);
  return { name, bytes: Number(content.slice(0, end)) - removedBytes, text };
}

const folderOf = (path: string) =>
  path === "." ? sandboxPaths.workspace : `${sandboxPaths.workspace}/${path}`;

const outsideMessage = (path: string, name: string) =>
  `${folderOf(path)}/${name} is a symbolic link that points outside its repository, so it was not read.`;
const lostMessage = (path: string) =>
  `Cannot read the instructions for agents in ${folderOf(path)}: the repository no longer contains the commit that the run started with.`;

/** Describes where the run executes, for the instructions. */
export function environmentFacts(
  assignment: Assignment,
  {
    repositories,
    working_folder,
    build,
    system,
    shell,
    programs,
  }: {
    repositories: readonly CheckedOutRepository[];
    working_folder: string;
    build: ReadyBuild | undefined;
  } & Partial<Surroundings>,
): EnvironmentFacts {
  const { environment, variables, secrets, limits } = assignment;
  const { max_steps, max_cost_usd, timeout_ms } = limits;
  return {
    workspace: sandboxPaths.workspace,
    working_folder,
    home: sandboxPaths.home,
    system,
    shell,
    hasImage: build?.image !== undefined,
    programs,
    repositories,
    network: environment?.network ?? { mode: "none" },
    variables: Object.keys(variables),
    secrets: Object.keys(secrets),
    start_commands: startCommandsOf(assignment, build),
    checks: environment?.checks?.map(({ name, command }) => name ?? command),
    limits: { max_steps, max_cost_usd, timeout_minutes: Math.ceil(timeout_ms / 60_000) },
    date: new Date().toISOString().slice(0, 10),
  };
}
