import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "@outrider/worker/log";
import { openProvider, parseSandboxKind } from "@outrider/worker/sandboxes/open-provider";
import type { ImageSource } from "@outrider/worker/sandboxes/sandbox";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Checks that this machine has everything that a worker needs. */
export async function machineFindings(): Promise<Finding[]> {
  return [
    checkProgram("git", "repositories"),
    checkProgram("ssh", "repositories over ssh"),
    ...(await checkSandbox()),
  ];
}

function checkProgram(name: string, purpose: string): Finding {
  try {
    const flag = name === "ssh" ? "-V" : "--version";
    execFileSync(name, [flag], { stdio: "ignore" });
    return ok(name, `found; required for ${purpose}`);
  } catch {
    return warn(name, `not found; required for ${purpose}`, `install ${name}`);
  }
}

function imageFindings(images: ImageSource | undefined): Finding[] {
  if (!images) return [];
  const { ids, problem } = images;
  const remedy = 'see "Images without root" in docs/running.md';
  if (problem !== undefined) return [warn("images", `not available: ${problem}`, remedy)];
  if (ids.enforced) return [ok("images", `work; each sandbox has its own user ids by ${ids.by}`)];
  return [warn("images", `work. ${ids.reason}`, remedy)];
}

/** Starts a sandbox, because this is the only reliable way to find out what the kernel allows. */
async function checkSandbox(): Promise<Finding[]> {
  const root = mkdtempSync(join(tmpdir(), "outrider-doctor-"));
  // If the command runs as root, the sandbox's unprivileged user must be able to enter the directory.
  chmodSync(root, 0o711);
  try {
    const kind = parseSandboxKind(process.env.OUTRIDER_SANDBOX || "local", "OUTRIDER_SANDBOX");
    const provider = await openProvider(kind, { root, log: silentLog });
    const controls = Object.entries(provider.capabilities()).map(([name, capability]) =>
      capability.enforced
        ? ok(name, `enforced by ${capability.by}`)
        : warn(name, `not enforced: ${capability.reason}`, "see docs/running.md for the requirements"),
    );
    await provider.stop();
    return [ok("sandbox", "works"), ...controls, ...imageFindings(provider.images)];
  } catch (error) {
    return [fail("sandbox", "failed to start", (error as Error).message)];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
