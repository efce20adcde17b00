/** The names, labels and annotations of everything that Outrider creates in a cluster. */
import { createHash } from "node:crypto";
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { Owner } from "../owner.ts";
import type { Label } from "../sandbox.ts";

export const labelNames = {
  installation: "outrider.dev/installation",
  worker: "outrider.dev/worker",
  sandbox: "outrider.dev/sandbox",
  run: "outrider.dev/run",
  managedBy: "app.kubernetes.io/managed-by",
  component: "app.kubernetes.io/component",
} as const;

/** By this label, the network policy of the chart selects the pods of sandboxes. */
export const sandboxComponent = "sandbox";

/** The pod that tests the network has this one instead, so that no policy for sandboxes selects it. */
export const networkProbeComponent = "network-probe";

const annotationNames = {
  sandbox: "outrider.dev/sandbox-id",
  /** The sandbox's `Label` as JSON. */
  label: "outrider.dev/label",
} as const;

const validLabelValue = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;

/** The labels that the pods of all workers have, whichever installation they belong to. */
export const managedLabels: Record<string, string> = { [labelNames.managedBy]: "outrider" };

/** The labels of all pods of a worker. Its names are valid values of labels. */
export function ownerLabels({ installation, worker }: Owner): Record<string, string> {
  return { ...managedLabels, [labelNames.installation]: installation, [labelNames.worker]: worker };
}

export function sandboxMetadata(
  owner: Owner,
  { sandbox, label }: { sandbox: string; label: Label },
): Required<Pick<V1ObjectMeta, "name" | "labels" | "annotations">> {
  const run = label.run_id ?? label.build_id;
  return {
    name: podName(owner, sandbox),
    labels: {
      ...ownerLabels(owner),
      [labelNames.component]: sandboxComponent,
      [labelNames.sandbox]: labelValue(sandbox),
      ...(run === undefined ? {} : { [labelNames.run]: labelValue(run) }),
    },
    annotations: {
      [annotationNames.sandbox]: sandbox,
      [annotationNames.label]: JSON.stringify(label),
    },
  };
}

/** Returns the sandbox of a pod. Somebody else may have changed the annotations, so an invalid label counts as empty. */
export function parseMetadata({ annotations = {} }: V1ObjectMeta): { sandbox: string; label: Label } {
  return {
    sandbox: annotations[annotationNames.sandbox] ?? "",
    label: parseLabel(annotations[annotationNames.label]),
  };
}

function parseLabel(text = "{}"): Label {
  try {
    const parsed: unknown = JSON.parse(text);
    return Object.fromEntries(
      Object.entries(parsed ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  } catch {
    return {};
  }
}

/** Replaces text that is not a valid value by its hash. */
function labelValue(text: string): string {
  return validLabelValue.test(text) ? text : shortHash(text, 32);
}

/** Pods with the same id are never alive at the same time, so a part of the time makes names unique. */
function podName({ installation, worker }: Owner, sandbox: string): string {
  const readable = sandbox
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")
    .replace(/^-+|-+$/g, "");
  const unique = shortHash(
    `${installation}\n${worker}\n${sandbox}\n${process.hrtime.bigint()}\n${Math.random()}`,
  );
  return `outrider-${readable.slice(0, 40)}-${unique}`.replaceAll(/-{2,}/g, "-");
}

function shortHash(text: string, length = 10): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}
