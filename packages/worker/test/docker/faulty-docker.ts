import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { labelNames, parseLabel } from "../../src/sandboxes/docker/labels.ts";
import { ensureSystemImage } from "../../src/sandboxes/docker/volumes/system-image.ts";
import type { FaultyEngine } from "../run-faults/faulty-engine.ts";
import { startDocker, type TestEngine } from "./test-engine.ts";

export interface FaultyDocker extends FaultyEngine {
  /** Kills the containers of a run, as `docker kill` does. */
  killContainers(run: string): Promise<void>;
  /** Stops the engine, which ends its containers, and starts it again. */
  restart(): Promise<void>;
}

/** Starts an engine with the system image, which all workers share because it takes long to make. */
export async function startFaultyDocker(): Promise<FaultyDocker> {
  const engine: TestEngine = await startDocker();
  const owner = { installation: "run-faults" };
  const systemImage = await ensureSystemImage(await openEngine({ host: engine.host }), { owner });
  const { kill, start, restart, pause, resume, stop } = engine;
  return {
    ...{ kill, start, restart, pause, resume, stop },
    target: { path: engine.socketPath },
    async workerOptions(port) {
      const host = ["--docker-host", `tcp://127.0.0.1:${port}`];
      return ["--sandbox", "docker", ...host, "--docker-system-image", systemImage];
    },
    async objectsOf(run) {
      const { docker } = await openEngine({ host: engine.host });
      const filters = JSON.stringify({ label: [labelNames.sandbox] });
      const [containers, { Volumes }, images] = await Promise.all([
        docker.listContainers({ all: true, filters }),
        docker.listVolumes({ filters }),
        docker.listImages({ all: true, filters }),
      ]);
      const objects = [
        ...containers.map(({ Names, Labels }) => ({ name: `container ${Names[0]}`, labels: Labels })),
        ...(Volumes ?? []).map(({ Name, Labels }) => ({ name: `volume ${Name}`, labels: Labels })),
        ...images.map(({ Id, Labels }) => ({ name: `image ${Id}`, labels: Labels })),
      ];
      return objects.filter(({ labels }) => parseLabel(labels).run_id === run).map(({ name }) => name);
    },
    async killContainers(run) {
      const { docker } = await openEngine({ host: engine.host });
      const filters = JSON.stringify({ label: [labelNames.sandbox] });
      const containers = await docker.listContainers({ filters });
      const found = containers.filter(({ Labels }) => parseLabel(Labels).run_id === run);
      for (const { Id } of found) await docker.getContainer(Id).kill();
    },
    messages: {
      away: "container engine does not respond, not accepting new runs",
      back: "container engine responds again, accepting new runs",
    },
    missing: /The container engine at tcp:\S+ .*Start Docker or Podman|closed the connection/,
  };
}
