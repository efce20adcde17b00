import { testFiles } from "../conformance/files.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) testFiles(place);
