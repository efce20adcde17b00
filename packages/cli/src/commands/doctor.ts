import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalProvider } from "@outrider/worker/sandboxes/local";
import { Command } from "commander";
import { certificateFinding } from "../certificate-finding.ts";

interface Finding {
  name: string;
  /** What holds, or what is missing and how to get it. */
  says: string;
  state: "ok" | "limited" | "missing";
}

const marks = { ok: "ok", limited: "--", missing: "!!" };

/** Looks at this machine as a worker would. Ends with 1 where no run could be executed here. */
export const doctorCommand = new Command("doctor")
  .description("Say what this machine offers to runs, and what is missing.")
  .option("--json", "as one JSON document")
  .action(async ({ json }: { json?: true }) => {
    const findings = [
      program("git", "repositories"),
      program("ssh", "repositories by ssh"),
      ...(await sandbox()),
      ...(await certificateFinding()),
    ];
    if (json) console.log(JSON.stringify({ findings }));
    else
      for (const { name, says, state } of findings) console.log(`${marks[state]}  ${name.padEnd(10)}${says}`);
    if (findings.some(({ state }) => state === "missing")) process.exitCode = 1;
  });

function program(name: string, purpose: string): Finding {
  try {
    const flag = name === "ssh" ? "-V" : "--version";
    execFileSync(name, [flag], { stdio: "ignore" });
    return { name, says: `for ${purpose}`, state: "ok" };
  } catch {
    return { name, says: `for ${purpose}: install ${name}`, state: "limited" };
  }
}

/** By opening one: nothing else tells whether a kernel lets us. */
async function sandbox(): Promise<Finding[]> {
  const root = mkdtempSync(join(tmpdir(), "outrider-doctor-"));
  // As root, the sandbox's own user has to pass.
  chmodSync(root, 0o711);
  try {
    const provider = await openLocalProvider({ root, log: { warn() {} } });
    const controls = Object.entries(provider.capabilities()).map(([name, capability]): Finding => {
      if (capability.enforced) return { name, says: `enforced by ${capability.by}`, state: "ok" };
      return { name, says: `not enforced: ${capability.reason}`, state: "limited" };
    });
    await provider.stop();
    return [{ name: "sandbox", says: "a command runs in one", state: "ok" }, ...controls];
  } catch (error) {
    return [{ name: "sandbox", says: (error as Error).message, state: "missing" }];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
