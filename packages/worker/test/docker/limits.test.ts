import { testLimits } from "../conformance/limits.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) testLimits(place);
