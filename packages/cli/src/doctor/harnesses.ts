import { openInstaller } from "../harness-installer.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const name = "agents";

/** Says which agents other than Outrider's own are installed, and whether workers can install the others. */
export async function harnessFindings(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  let agents: Awaited<ReturnType<ReturnType<typeof openInstaller>["installer"]["list"]>>;
  try {
    agents = await openInstaller({
      folder: environment.OUTRIDER_HARNESS_FOLDER || undefined,
    }).installer.list();
  } catch (error) {
    return [fail(name, "cannot be listed", (error as Error).message)];
  }
  const text = (chosen: typeof agents) =>
    chosen.map(({ name, version }) => (version ? `${name} ${version}` : name)).join(", ");
  const installed = agents.filter((agent) => agent.installed);
  const onUse = agents.filter((agent) => !agent.installed && !agent.problem);
  const problems = Map.groupBy(
    agents.filter(({ problem }) => problem),
    ({ problem }) => problem,
  );
  return [
    ...(installed.length > 0 ? [ok(name, `installed: ${text(installed)}`)] : []),
    ...(onUse.length > 0 ? [ok(name, `installed on first use: ${text(onUse)}`)] : []),
    ...[...problems].map(([problem, all]) =>
      warn(name, `not available: ${text(all)} (${problem})`, "see docs/harnesses.md#installing-agents"),
    ),
  ];
}
