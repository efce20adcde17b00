import { testConformance, testEscapes } from "../conformance/conformance.ts";
import { testEgress } from "../egress/suite/egress.ts";
import { describeEnginePlaces } from "./engine-places.ts";
import { engineOfFile } from "./file-engine.ts";
import { startPodman } from "./test-engine.ts";

const podman = describeEnginePlaces({ name: "podman", host: engineOfFile(startPodman) });

for (const place of [podman.plain, podman.withImage]) {
  testConformance(place);
  testEscapes(place);
  testEgress(place);
}
