import { testBases } from "../conformance/bases.ts";
import { dockerCopiesPlace, dockerPlaces } from "./docker-places.ts";

for (const place of [...dockerPlaces, dockerCopiesPlace]) testBases(place);
