/**
 * The names and labels of everything that Outrider creates in a container engine. Every object has the labels of its
 * installation and kind, so that leftovers can be found after a crash of the worker or the engine.
 *
 * Objects of a sandbox belong to one worker. Objects that are shared by content (programs, system images) belong to the
 * installation, whose workers announce which of them they use (presence.ts). Their names contain a hash of the installation,
 * because several installations can share an engine.
 */
import { createHash, randomUUID } from "node:crypto";
import type { Owner } from "../owner.ts";
import type { Label } from "../sandbox.ts";

export const labelNames = {
  installation: "outrider.installation",
  worker: "outrider.worker",
  /** The id of the sandbox. */
  sandbox: "outrider.sandbox",
  /** The run of the sandbox, if it has one, for operators. */
  run: "outrider.run",
  /** The sandbox's `Label` as JSON. */
  label: "outrider.label",
  kind: "outrider.kind",
  /** The hash of what a shared object contains. */
  content: "outrider.content",
  /** In the record of a shared volume: the name of the volume that is complete. */
  volume: "outrider.volume",
  /** Of a worker's presence: the names of the shared objects that it uses, as JSON. */
  uses: "outrider.uses",
} as const;

const namePrefix = "outrider";
/** Engines accept longer names, but these are also folders and host names. */
const MAX_NAME_LENGTH = 120;

/** Returns the labels of an object that belongs to a sandbox of this worker. */
export function sandboxLabels(
  { installation, worker }: Owner,
  { kind, sandbox, label }: { kind: string; sandbox: string; label?: Label },
): Record<string, string> {
  return {
    [labelNames.installation]: installation,
    [labelNames.worker]: worker,
    [labelNames.sandbox]: sandbox,
    [labelNames.kind]: kind,
    ...(label?.run_id === undefined ? {} : { [labelNames.run]: label.run_id }),
    ...(label ? { [labelNames.label]: JSON.stringify(label) } : {}),
  };
}

/** Returns the labels of what a worker creates to find out what an engine can do. `reap` removes it after a crash. */
export function probeLabels(owner: Owner, sandbox = `probe-${randomUUID()}`): Record<string, string> {
  return sandboxLabels(owner, { kind: "probe", sandbox, label: { purpose: "check" } });
}

/** Returns the labels of an object that all workers of the installation share. */
export function sharedLabels(
  { installation }: Pick<Owner, "installation">,
  { kind, content }: { kind: string; content: string },
): Record<string, string> {
  return {
    [labelNames.installation]: installation,
    [labelNames.kind]: kind,
    [labelNames.content]: content,
  };
}

/** Returns the `filters` of list requests that match objects with all of these labels. Undefined stands for any value. */
export function labelFilters(labels: Record<string, string | undefined>): { label: string[] } {
  return {
    label: Object.entries(labels).map(([name, value]) => (value === undefined ? name : `${name}=${value}`)),
  };
}

/** Parses the sandbox's `Label`. Somebody else may have changed it, so an invalid one counts as empty. */
export function parseLabel(labels: Record<string, string> | null | undefined): Label {
  try {
    const parsed: unknown = JSON.parse(labels?.[labelNames.label] ?? "{}");
    if (typeof parsed !== "object" || parsed === null) return {};
    return Object.fromEntries(
      Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  } catch {
    return {};
  }
}

/** Returns a name for an object of one sandbox: `outrider-<installation>-<sandbox>-<kind>`. */
export function sandboxObjectName(
  owner: Owner,
  { sandbox, kind }: { sandbox: string; kind: string },
): string {
  return objectName(shortHash(`${owner.installation}\n${owner.worker}`), sandbox, kind);
}

/** Returns a name for an object that the workers of an installation share. */
export function sharedObjectName({ installation }: Pick<Owner, "installation">, ...parts: string[]): string {
  return objectName(shortHash(installation), ...parts);
}

function objectName(...parts: string[]): string {
  const name = [namePrefix, ...parts].join("-").replaceAll(/[^a-zA-Z0-9_.-]/g, "_");
  return name.length <= MAX_NAME_LENGTH
    ? name
    : `${name.slice(0, MAX_NAME_LENGTH - 13)}-${shortHash(name, 12)}`;
}

export function shortHash(text: string, length = 8): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}
