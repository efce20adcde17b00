import { testNeighborEscapes } from "../../conformance/escape/neighbors.ts";
import { dockerPlaces } from "../docker-places.ts";

for (const place of dockerPlaces) testNeighborEscapes(place);
