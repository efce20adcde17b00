import { testOutOfMemory } from "../conformance/out-of-memory.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) testOutOfMemory(place);
