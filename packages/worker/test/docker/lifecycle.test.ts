import { testLifecycle } from "../conformance/lifecycle.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) testLifecycle(place);
