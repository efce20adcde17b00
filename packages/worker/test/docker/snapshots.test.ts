import { testSnapshots } from "../conformance/snapshots.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) testSnapshots(place);
