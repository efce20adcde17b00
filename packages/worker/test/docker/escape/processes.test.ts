import { testProcessEscapes } from "../../conformance/escape/processes.ts";
import { dockerPlaces } from "../docker-places.ts";

for (const place of dockerPlaces) testProcessEscapes(place);
