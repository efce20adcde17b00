import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalProvider } from "@outrider/worker/sandboxes/local";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** What this machine offers to runs, as a worker would find it. */
export async function machineFindings(): Promise<Finding[]> {
  return [program("git", "repositories"), program("ssh", "repositories by ssh"), ...(await sandbox())];
}

function program(name: string, purpose: string): Finding {
  try {
    const flag = name === "ssh" ? "-V" : "--version";
    execFileSync(name, [flag], { stdio: "ignore" });
    return ok(name, `for ${purpose}`);
  } catch {
    return warn(name, `is missing, for ${purpose}`, `install ${name}`);
  }
}

/** By opening one: nothing else tells whether a kernel lets us. */
async function sandbox(): Promise<Finding[]> {
  const root = mkdtempSync(join(tmpdir(), "outrider-doctor-"));
  // As root, the sandbox's own user has to pass.
  chmodSync(root, 0o711);
  try {
    const provider = await openLocalProvider({ root, log: { warn() {} } });
    const controls = Object.entries(provider.capabilities()).map(([name, capability]) =>
      capability.enforced
        ? ok(name, `enforced by ${capability.by}`)
        : warn(name, `not enforced: ${capability.reason}`, "docs/running.md says what each control needs"),
    );
    await provider.stop();
    return [ok("sandbox", "a command runs in one"), ...controls];
  } catch (error) {
    return [fail("sandbox", "none can be opened", (error as Error).message)];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
