/**
 * Searches all new commits for secrets: their files, also those that a later commit removes, their messages and authors,
 * and the names of files. It searches for the run's known secrets in all forms that the redactor recognizes, and for
 * common kinds of keys.
 *
 * The first pass reads every new object once, as a stream. Only objects with a match are read again, to find the lines.
 * A line that the file already had in a parent commit or on the remote is not reported, because it is already public there.
 */
import type { SecretFinding } from "@outrider/contract/worker/publication";
import { Redactor } from "../redaction/redact.ts";
import { type ChangeLimits, type Changes, type NewObject, readRawDiff } from "./list-changes.ts";
import type { Outbox } from "./outbox.ts";
import { type ObjectReader, readObjects, readSmallObject } from "./read-objects.ts";
import { findKeys, MAX_KEY_CHARACTERS } from "./secret-patterns.ts";

const MAX_FINDINGS = 100;
/** Larger files are reported without a line. */
const MAX_LOCATED_BYTES = 16 * 2 ** 20;
const MAX_PATH_CHARACTERS = 4_096;
const KNOWN_SECRET = "a secret of the run";

/** A secret of the run, with the name by which users know it. */
export interface NamedSecret {
  name: string;
  value: string;
}

export interface ScanOptions {
  redactor: Redactor;
  secrets?: readonly NamedSecret[];
  limits: Pick<ChangeLimits, "commandMs">;
}

export interface ScanResult {
  findings: SecretFinding[];
  /** Whether a secret of the run is in the commits, so that they must not be stored. */
  hasKnownSecret: boolean;
}

export async function scanCommits(
  outbox: Outbox,
  changes: Changes,
  { redactor, secrets = [], limits }: ScanOptions,
): Promise<ScanResult> {
  const names = new SecretNames(redactor, secrets);
  const { commits, blobs } = await findMatches(outbox, changes.objects, { redactor, limits });
  const findings: SecretFinding[] = [];
  let hasKnownSecret = false;
  const add = (finding: SecretFinding, isKnown: boolean) => {
    hasKnownSecret ||= isKnown;
    if (findings.length < MAX_FINDINGS) findings.push(finding);
  };
  for (const { id, text, isKnown } of commits) {
    if (isKnown) add({ commit: id, rule: names.find(text) }, true);
    for (const rule of new Set(findKeys(text.toString("latin1")).map((match) => match.rule)))
      add({ commit: id, rule }, false);
  }
  const places = await findPlaces(outbox, changes, { wanted: blobs, redactor, limits });
  for (const { commit, path, name } of places.names) {
    if (redactor.redact(name) !== name)
      add(
        {
          commit,
          path: redactor.redact(path).slice(0, MAX_PATH_CHARACTERS),
          rule: names.find(Buffer.from(name)),
        },
        true,
      );
    // The name would repeat the key.
    for (const { rule } of findKeys(name)) add({ commit, rule }, false);
  }
  for (const [id, { isKnown }] of blobs) {
    const place = places.blobs.get(id);
    const { commit, path } = place ?? { commit: changes.commits.at(-1) as string, path: undefined };
    const shownPath = path === undefined ? {} : { path: redactor.redact(path).slice(0, MAX_PATH_CHARACTERS) };
    const content = await readSmallObject(outbox, id, { maxBytes: MAX_LOCATED_BYTES });
    if (!content || path === undefined) {
      add({ commit, ...shownPath, rule: isKnown ? KNOWN_SECRET : "a key" }, isKnown);
      continue;
    }
    const oldLines = await readOldLines(outbox, { commit, path, from: changes.from });
    const lines = splitLines(content);
    const isNew = (line: number) => !oldLines.has(lines[line - 1] ?? "");
    if (isKnown) {
      const line = findMaskedLines(redactor, content).find(isNew);
      if (line !== undefined) add({ commit, ...shownPath, line, rule: names.find(content) }, true);
    }
    for (const { rule, line } of locateKeys(content)) {
      if (isNew(line)) add({ commit, ...shownPath, line, rule }, false);
    }
  }
  const order = new Map(changes.commits.map((commit, index) => [commit, index]));
  const indexOf = ({ commit }: SecretFinding) => order.get(commit) ?? 0;
  return { findings: findings.toSorted((a, b) => indexOf(a) - indexOf(b)), hasKnownSecret };
}

interface Matches {
  commits: { id: string; text: Buffer; isKnown: boolean }[];
  /** The files with a match. */
  blobs: Map<string, { isKnown: boolean }>;
}

/** Reads all new commits and files once. */
async function findMatches(
  outbox: Outbox,
  objects: NewObject[],
  { redactor, limits }: Pick<ScanOptions, "redactor" | "limits">,
): Promise<Matches> {
  const matches: Matches = { commits: [], blobs: new Map() };
  const ids = objects.flatMap(({ id, type }) => (type === "blob" || type === "commit" ? [id] : []));
  await readObjects(outbox, ids, {
    timeoutMs: limits.commandMs,
    onObject: ({ id, type }): ObjectReader => {
      const known = redactor.byteStream();
      const keys = new KeySearch();
      const chunks: Buffer[] = [];
      return {
        push(data) {
          known.push(data);
          keys.push(data);
          if (type === "commit") chunks.push(Buffer.from(data));
        },
        end() {
          known.end();
          const isKnown = known.hasFound;
          if (!isKnown && !keys.end()) return;
          if (type === "commit") matches.commits.push({ id, text: Buffer.concat(chunks), isKnown });
          else matches.blobs.set(id, { isKnown });
        },
      };
    },
  });
  return matches;
}

const WINDOW_CHARACTERS = 256 * 1024;

/** Searches a stream for keys, in windows that overlap. */
class KeySearch {
  #window = "";
  #hasFound = false;

  push(data: Buffer) {
    if (this.#hasFound) return;
    this.#window += data.toString("latin1");
    if (this.#window.length < WINDOW_CHARACTERS) return;
    this.#hasFound = findKeys(this.#window).length > 0;
    this.#window = this.#window.slice(-MAX_KEY_CHARACTERS);
  }

  end(): boolean {
    this.#hasFound ||= findKeys(this.#window).length > 0;
    return this.#hasFound;
  }
}

interface Place {
  commit: string;
  path: string;
}

/** Finds the commit and path of files, and the names of new files that contain a secret. */
async function findPlaces(
  outbox: Outbox,
  { range }: Changes,
  {
    wanted,
    redactor,
    limits,
  }: { wanted: ReadonlyMap<string, unknown>; redactor: Redactor; limits: Pick<ChangeLimits, "commandMs"> },
): Promise<{ blobs: Map<string, Place>; names: (Place & { name: string })[] }> {
  const blobs = new Map<string, Place>();
  const names: (Place & { name: string })[] = [];
  let commit = "";
  await readRawDiff(
    outbox,
    [
      "log",
      "--format=%H",
      "--reverse",
      "--topo-order",
      "-m",
      "--root",
      "-z",
      "--raw",
      "--no-abbrev",
      "--no-renames",
      ...range,
    ],
    limits,
    ({ path, id, status }) => {
      if (wanted.has(id) && !blobs.has(id)) blobs.set(id, { commit, path });
      if (status !== "A" || names.length >= MAX_FINDINGS) return;
      if (redactor.redact(path) !== path || findKeys(path).length > 0)
        names.push({ commit, path, name: path });
    },
    (text) => {
      commit = text.slice(0, 64);
    },
  );
  return { blobs, names };
}

/** Returns the lines that the file has in the parents of a commit, and in the commit that the changes start from. */
async function readOldLines(
  outbox: Outbox,
  { commit, path, from }: Place & { from: string },
): Promise<Set<string>> {
  const revisions = [`${commit}^1`, `${commit}^2`, from];
  const versions = await Promise.all(
    revisions.map((revision) =>
      readSmallObject(outbox, `${revision}:${path}`, { maxBytes: MAX_LOCATED_BYTES }).catch(() => undefined),
    ),
  );
  return new Set(versions.flatMap((content) => (content ? splitLines(content) : [])));
}

function splitLines(content: Buffer): string[] {
  return content.toString("latin1").split("\n");
}

/** Returns the numbers of the lines that contain a secret of the run. */
function findMaskedLines(redactor: Redactor, content: Buffer): number[] {
  const stream = redactor.byteStream({ preserve: "lines" });
  const masked = splitLines(Buffer.concat([stream.push(content), stream.end()]));
  return splitLines(content).flatMap((line, index) => (masked[index] === line ? [] : [index + 1]));
}

function locateKeys(content: Buffer): { rule: string; line: number }[] {
  const text = content.toString("latin1");
  return findKeys(text).map(({ rule, index }) => ({
    rule,
    line: text.slice(0, index).split("\n").length,
  }));
}

/** Finds out which secret a text contains. */
class SecretNames {
  readonly #redactor: Redactor;
  readonly #secrets: readonly NamedSecret[];
  #each: { name: string; redactor: Redactor }[] | undefined;

  constructor(redactor: Redactor, secrets: readonly NamedSecret[]) {
    this.#redactor = redactor;
    this.#secrets = secrets;
  }

  find(content: Buffer): string {
    this.#each ??= this.#secrets.map(({ name, value }) => ({ name, redactor: new Redactor([value]) }));
    const found = this.#each.find(({ redactor }) => redactor.redactBytes(content) !== content);
    return this.#redactor.redact(found?.name ?? KNOWN_SECRET).slice(0, 100);
  }
}
