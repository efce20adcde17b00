import { describe, expect, it, onTestFinished } from "vitest";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { explainContainerEnd } from "../../src/sandboxes/docker/engine/container-end.ts";
import { describeEngine } from "../../src/sandboxes/docker/engine/describe.ts";
import { importBusybox } from "./docker-support.ts";
import { canRunEngines, startDocker } from "./test-engine.ts";

describe.skipIf(!canRunEngines)("Docker with gVisor", () => {
  it("runs containers with the runtime runsc", async () => {
    const server = await startDocker({ hasGvisor: true });
    onTestFinished(() => server.stop());
    const engine = await openEngine({ host: server.host });
    expect((await describeEngine(engine)).runtimes).toContain("runsc");
    const container = await engine.docker.createContainer({
      ...{ Image: await importBusybox(engine), Cmd: ["sh", "-c", "dmesg | grep -qi gvisor && exit 7"] },
      HostConfig: { NetworkMode: "none", Runtime: "runsc" },
    });
    await container.start();
    await container.wait();
    expect((await explainContainerEnd(engine.docker, container.id)).message).toContain("exit code 7");
  });
});
