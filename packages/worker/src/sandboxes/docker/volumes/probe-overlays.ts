import { randomUUID } from "node:crypto";
import { createArchive } from "../../files/file-archive.ts";
import { runTool, type ToolResources } from "../containers/run-tool.ts";
import { isEngineError } from "../engine/errors.ts";
import { probeLabels, sandboxObjectName } from "../labels.ts";
import type { SharedResources } from "../shared-resources.ts";
import { fillVolume } from "./fill-volume.ts";
import { mountpointOf, SandboxVolumes } from "./sandbox-volumes.ts";

type ProbeOptions = ToolResources & Pick<SharedResources, "owner" | "log">;

/**
 * Checks whether volumes of the engine can be overlays of folders of other volumes. Rootless engines cannot mount them, and
 * some engines do not store volumes in folders.
 */
export async function probeOverlays(options: ProbeOptions): Promise<boolean> {
  const { docker, owner, systemImage, log } = options;
  const sandbox = `probe-${randomUUID()}`;
  const labels = probeLabels(owner, sandbox);
  const prefix = sandboxObjectName(owner, { sandbox, kind: "volume" });
  const volumes = new SandboxVolumes(docker, { prefix, labels });
  try {
    const files = await volumes.create("files");
    const archive = createArchive(["lower/", "upper/", "work/"].map((name) => ({ name, mode: 0o755 })));
    await fillVolume(docker, { volume: files, image: systemImage, archive, labels });
    const folder = await mountpointOf(docker, files);
    const [lower, upper, work] = [`${folder}/lower`, `${folder}/upper`, `${folder}/work`];
    const merged = await volumes.createOverlay("merged", { lower, upper, work });
    const argv = ["/bin/sh", "-c", "echo > /merged/file"];
    await runTool(options, { argv, volumes: { "/merged": merged }, labels });
    return true;
  } catch (error) {
    if (isEngineError(error, "unreachable", "timeout")) throw error;
    log.warn({ error }, "the container engine cannot mount overlays, so opening a sandbox copies its base");
    return false;
  } finally {
    await volumes.remove().catch(() => {}); // reap removes them later
  }
}
