import { testNetwork } from "../conformance/network.ts";
import { localPlaces } from "./local-places.ts";

for (const place of localPlaces) testNetwork(place);
