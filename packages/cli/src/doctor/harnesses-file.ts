import type { Config } from "@outrider/server/config";
import { type Finding, fail, ok } from "./finding.ts";

/** Checks the operator's settings of harnesses, if there are any. */
export function harnessesFileFindings(config: Config): Finding[] {
  try {
    const names = Object.keys(config.harnesses());
    return names.length === 0 ? [] : [ok("harnesses", `configured: ${names.join(", ")}`)];
  } catch (error) {
    return [fail("harnesses", "cannot read the harnesses file", (error as Error).message)];
  }
}
