import { testIsolation } from "../conformance/isolation.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) testIsolation(place);
