import { testConformance, testEscapes } from "../conformance/conformance.ts";
import { describeEnginePlaces } from "./engine-places.ts";
import { engineOfFile } from "./file-engine.ts";
import { startDocker } from "./test-engine.ts";

/** Docker whose containers have a user namespace. */
const remapped = describeEnginePlaces({
  name: "docker with userns-remap",
  host: engineOfFile(() => startDocker({ args: ["--userns-remap=nobody:nogroup"] })),
  capabilities: { ids: true },
});

for (const place of [remapped.plain, remapped.withImage]) {
  testConformance(place);
  testEscapes(place);
}
