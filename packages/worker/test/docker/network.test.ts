import { testNetwork } from "../conformance/network.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) testNetwork(place);
