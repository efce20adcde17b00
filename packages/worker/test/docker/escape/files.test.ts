import { testFileEscapes } from "../../conformance/escape/files.ts";
import { dockerPlaces } from "../docker-places.ts";

for (const place of dockerPlaces) testFileEscapes(place);
