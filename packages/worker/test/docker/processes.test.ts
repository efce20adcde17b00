import { testProcesses } from "../conformance/processes.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) testProcesses(place);
