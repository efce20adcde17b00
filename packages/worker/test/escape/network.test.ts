import { testNetworkEscapes } from "../conformance/escape/network.ts";
import { localPlaces } from "../sandboxes/local-places.ts";

for (const place of localPlaces) testNetworkEscapes(place);
