import { testProcessEscapes } from "../conformance/escape/processes.ts";
import { localPlaces } from "../sandboxes/local-places.ts";

for (const place of localPlaces) testProcessEscapes(place);
