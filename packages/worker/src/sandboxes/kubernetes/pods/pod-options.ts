/** What operators set on the pods of sandboxes, in a YAML or JSON file. */
import { readFileSync } from "node:fs";
import { loadYaml, type V1ObjectMeta, type V1PodSpec } from "@kubernetes/client-node";
import { z } from "zod";
import { ClusterError } from "../cluster/errors.ts";

const texts = z.record(z.string(), z.string());

/** The fields of pods, with the names that Kubernetes gives them. */
const PodFile = z.strictObject({
  nodeSelector: texts.optional(),
  tolerations: z
    .array(
      z.strictObject({
        key: z.string().optional(),
        operator: z.enum(["Exists", "Equal"]).optional(),
        value: z.string().optional(),
        effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
        tolerationSeconds: z.number().optional(),
      }),
    )
    .optional(),
  runtimeClassName: z.string().optional(),
  hostUsers: z.boolean().optional(),
  imagePullSecrets: z.array(z.strictObject({ name: z.string() })).optional(),
  priorityClassName: z.string().optional(),
  labels: texts.optional(),
  annotations: texts.optional(),
});
export type PodOptions = Pick<
  V1PodSpec,
  | "nodeSelector"
  | "nodeName"
  | "tolerations"
  | "runtimeClassName"
  | "hostUsers"
  | "imagePullSecrets"
  | "priorityClassName"
> &
  Pick<V1ObjectMeta, "labels" | "annotations">;

const fields = Object.keys(PodFile.shape).join(", ");

/** Reads the operator's file. */
export function readPodOptions(path: string | undefined): PodOptions {
  if (path === undefined) return {};
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw invalid(path, `cannot be read (${(error as NodeJS.ErrnoException).code})`, "Check the path.");
  }
  return parsePodOptions(text, path);
}

export function parsePodOptions(text: string, path: string): PodOptions {
  let content: unknown;
  try {
    // The parser refuses an empty file.
    content = text.trim() === "" ? {} : loadYaml(text);
  } catch (error) {
    throw invalid(
      path,
      `is neither YAML nor JSON: ${(error as Error).message.split("\n")[0]}`,
      "Correct the file.",
    );
  }
  const parsed = PodFile.safeParse(content);
  if (parsed.success) return parsed.data as PodOptions;
  const [issue] = parsed.error.issues;
  const place = issue?.path.join(".") ?? "";
  if (issue?.code === "unrecognized_keys") {
    const names = issue.keys.map((key) => `"${[...issue.path, key].join(".")}"`).join(", ");
    throw invalid(path, `has fields that cannot be set: ${names}`, `Allowed are ${fields}.`);
  }
  throw invalid(
    path,
    `has an invalid value${place ? ` for ${place}` : ""}: ${issue?.message}`,
    "Correct it.",
  );
}

function invalid(path: string, problem: string, remedy: string): ClusterError {
  return new ClusterError("configuration", `The file ${path} of --kubernetes-pod ${problem}. ${remedy}`);
}
