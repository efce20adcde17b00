import { testNeighborEscapes } from "../conformance/escape/neighbors.ts";
import { localPlaces } from "../sandboxes/local-places.ts";

for (const place of localPlaces) testNeighborEscapes(place);
