import { testNetworkEscapes } from "../../conformance/escape/network.ts";
import { dockerPlaces } from "../docker-places.ts";

for (const place of dockerPlaces) testNetworkEscapes(place);
