import { testEgress } from "../egress/suite/egress.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) testEgress(place);
