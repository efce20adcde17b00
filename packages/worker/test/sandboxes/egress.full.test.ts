import { testEgress } from "../egress/suite/egress.ts";
import { localPlaces } from "./local-places.ts";

for (const place of localPlaces) testEgress(place);
