import { testCommands } from "./commands.ts";
import { testFileEscapes } from "./escape/files.ts";
import { testKernelEscapes } from "./escape/kernel.ts";
import { testNeighborEscapes } from "./escape/neighbors.ts";
import { testNetworkEscapes } from "./escape/network.ts";
import { testProcessEscapes } from "./escape/processes.ts";
import { testFiles } from "./files.ts";
import { testImages } from "./images.ts";
import { testIsolation } from "./isolation.ts";
import { testLifecycle } from "./lifecycle.ts";
import { testLimits } from "./limits.ts";
import { testNetwork } from "./network.ts";
import type { Place } from "./place.ts";
import { testProcesses } from "./processes.ts";
import { testSnapshots } from "./snapshots.ts";

/** Everything that each provider must do. */
export function testConformance(place: Place): void {
  testCommands(place);
  if (place.system.isImage) testImages(place);
  testFiles(place);
  testIsolation(place);
  testLifecycle(place);
  testLimits(place);
  testNetwork(place);
  testProcesses(place);
  testSnapshots(place);
}

/** Every attempt to escape. */
export function testEscapes(place: Place): void {
  testFileEscapes(place);
  testKernelEscapes(place);
  testNeighborEscapes(place);
  testNetworkEscapes(place);
  testProcessEscapes(place);
}
