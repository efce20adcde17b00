import { Failure } from "@outrider/agent/failure";

const MAX_PACKAGES = 20;
const packageName = /^(@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*$/;
const exactVersion = /^\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?$/;
const harnessName = /^[a-z][a-z0-9-]{0,62}$/;

/** Checks what an operator has declared, because the name is a path and versions could be addresses or commands. */
export function checkPackages(name: string, packages: Record<string, string>): void {
  const entries = Object.entries(packages);
  const problem = !harnessName.test(name)
    ? "its name must consist of lower-case letters, digits and `-`"
    : entries.length === 0 || entries.length > MAX_PACKAGES
      ? `it must have 1 to ${MAX_PACKAGES} packages`
      : entries
          .filter(
            ([name, version]) => name.length > 214 || !packageName.test(name) || !exactVersion.test(version),
          )
          .map(([name]) => `the version of ${name} must be exact, such as 1.2.3`)[0];
  if (problem) throw new Failure("harness_failed", `The worker cannot install ${name}: ${problem}.`);
}

export function describePackages(packages: Record<string, string>): string {
  return Object.entries(packages)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
}
