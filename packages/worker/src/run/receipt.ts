import type { RunReceipt } from "@outrider/contract/run";
import type { Assignment, WorkerInfo } from "@outrider/contract/worker";
import type { Harness, HarnessReceipt } from "../harnesses/harness.ts";
import type { Enforced } from "../sandboxes/limits.ts";
import type { SandboxProvider } from "../sandboxes/sandbox.ts";
import { chooseWorkingFolder } from "../workspace/working-folder.ts";
import type { PreparedRun } from "./prepare.ts";

interface ReceiptSources {
  assignment: Assignment;
  worker: WorkerInfo;
  prepared: PreparedRun | undefined;
  harness: Harness | undefined;
  enforced: Enforced | undefined;
  provider: Pick<SandboxProvider, "kind" | "describe">;
  networkPresets: NonNullable<RunReceipt["network"]["presets"]>;
}

/**
 * Builds the receipt, which records the worker, model, environment and limits that a run uses. Omits what is not known
 * yet.
 */
export function buildReceipt({
  assignment,
  worker,
  prepared,
  harness,
  enforced,
  provider,
  networkPresets,
}: ReceiptSources): RunReceipt {
  const { environment } = assignment;
  const { reasoning_effort } = assignment.agent_config;
  return {
    worker: worker.name,
    harness_version: worker.version,
    model_id: assignment.model.model_id,
    ...(reasoning_effort ? { reasoning_effort } : {}),
    ...(environment
      ? {
          environment: {
            environment_id: environment.environment_id,
            version: environment.version,
            ...(prepared ? { build_id: prepared.build.build_id } : {}),
            ...(prepared?.build.image ? { image: prepared.build.image } : {}),
          },
        }
      : {}),
    ...(prepared
      ? {
          repositories: prepared.repositories,
          working_folder: chooseWorkingFolder(prepared.repositories, assignment.receipt),
        }
      : {}),
    // Until the skill has been read again, the receipt repeats the earlier one, because another attempt must find the
    // same commit.
    ...(harness?.receipt ?? earlierHarness(assignment.receipt)),
    network: {
      ...(environment?.network ?? { mode: "none" }),
      ...(networkPresets.length > 0 ? { presets: networkPresets } : {}),
    },
    ...(enforced ? { sandbox: { kind: provider.kind, ...provider.describe?.() }, resources: enforced } : {}),
  };
}

function earlierHarness(receipt: RunReceipt | undefined): HarnessReceipt {
  const { skill, skills_used, harness } = receipt ?? {};
  return {
    ...(skill ? { skill } : {}),
    ...(skills_used ? { skills_used } : {}),
    ...(harness ? { harness } : {}),
  };
}
