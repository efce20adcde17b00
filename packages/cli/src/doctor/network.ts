import { readExtraCertificates, trustCertificates } from "@outrider/worker/egress/extra-ca";
import { formatAuthority } from "@outrider/worker/egress/host";
import { Presets, presetNames } from "@outrider/worker/egress/presets/presets";
import { parseUpstreamProxy } from "@outrider/worker/egress/upstream-proxy";
import { type Finding, fail, ok, warn } from "./finding.ts";

const CHECK_TIMEOUT_MS = 5_000;

/** Checks the settings for company networks, and shows what the presets of `network.allow` stand for here. */
export async function networkFindings(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  return [
    ...checkExtraCa(environment.OUTRIDER_EXTRA_CA),
    ...(await checkUpstream(environment)),
    ...(await presetFindings(environment)),
  ];
}

function checkExtraCa(file: string | undefined): Finding[] {
  if (!file) return [];
  try {
    const certificates = readExtraCertificates(file);
    // The other checks use the same settings as the server and the worker.
    trustCertificates(certificates);
    return [ok("extra CA", `${certificates.length} certificates in ${file}`)];
  } catch (error) {
    return [fail("extra CA", "invalid", (error as Error).message)];
  }
}

async function checkUpstream({
  OUTRIDER_UPSTREAM_PROXY: url,
  OUTRIDER_NO_PROXY: noProxy,
}: NodeJS.ProcessEnv): Promise<Finding[]> {
  try {
    const upstream = parseUpstreamProxy({ url, noProxy });
    if (!upstream) return [];
    const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const socket = await upstream.connect({ timeoutMs: CHECK_TIMEOUT_MS, signal });
    socket.destroy();
    return [ok("proxy", `${upstream.name} accepts connections`)];
  } catch (error) {
    return [fail("proxy", (error as Error).message, "check OUTRIDER_UPSTREAM_PROXY")];
  }
}

async function presetFindings(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const presets = new Presets({ environment });
  // preset:git stands for a setting of the server.
  const names = presetNames.filter((name) => name !== "git");
  const resolved = await Promise.all(
    names.map(async (name) => ({ name, preset: await presets.resolve(name, undefined) })),
  );
  return resolved.map(({ name, preset: { targets, notices } }) => {
    const hosts = targets.map(formatAuthority).join(", ");
    const message = `preset:${name} allows ${hosts || "nothing"}`;
    return notices.length > 0 ? warn("presets", message, notices.join(" ")) : ok("presets", message);
  });
}
