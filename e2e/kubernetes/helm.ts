/** Helm and kubeconform, as scripts/kubernetes builds them. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { root } from "../process.ts";

const execute = promisify(execFile);

export const chartFolder = join(root, "packaging/helm/outrider");
/** Helm expects an old version if it is built from its module and asks no cluster. */
export const kubernetesVersion = "--kube-version=1.34.4";

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: tests read objects of every kind
  [field: string]: any;
}

/** Runs a program that scripts/kubernetes builds, with this input, and returns its output. */
export async function runProgram(
  name: "helm" | "kubeconform",
  args: string[],
  input?: string,
): Promise<string> {
  const { stdout } = await execute(join(root, "scripts/kubernetes"), [name], { timeout: 30 * 60_000 });
  const running = execute(join(stdout.trim(), name), args, { maxBuffer: 2 ** 26 });
  running.child.stdin?.end(input);
  try {
    return (await running).stdout;
  } catch (error) {
    // Kubeconform prints what is wrong to stdout.
    throw new Error(`${(error as Error).message}${(error as { stdout: string }).stdout}`);
  }
}

/** Returns the objects of the chart with these values, in the namespace `outrider`. */
export async function renderChart(values: object, chart = chartFolder): Promise<Manifest[]> {
  const options = ["--namespace=outrider", kubernetesVersion, "--values=-"];
  const text = await runProgram("helm", ["template", "outrider", chart, ...options], JSON.stringify(values));
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}
