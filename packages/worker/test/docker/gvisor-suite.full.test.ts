import { testConformance, testEscapes } from "../conformance/conformance.ts";
import { testEgress } from "../egress/suite/egress.ts";
import { describeEnginePlaces } from "./engine-places.ts";
import { engineOfFile } from "./file-engine.ts";
import { processesInside } from "./processes-inside.ts";
import { startDocker } from "./test-engine.ts";

const gvisor = describeEnginePlaces({
  name: "gvisor",
  host: engineOfFile(() => startDocker({ hasGvisor: true })),
  options: { runtime: "runsc" },
  capabilities: { pids: false, ids: true },
  // gVisor removes NET_RAW.
  imageCapabilities: "00000000a00005fb",
  system: { hasOwnKernel: true, hasResizeSignal: false, findsHoles: false },
  processesWith: async (host, worker, text) =>
    (await processesInside(host, worker)).filter((line) => line.includes(text)),
});

for (const place of [gvisor.plain, gvisor.withImage]) {
  testConformance(place);
  testEscapes(place);
  testEgress(place);
}
