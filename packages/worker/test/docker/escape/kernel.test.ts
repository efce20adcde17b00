import { testKernelEscapes } from "../../conformance/escape/kernel.ts";
import { dockerPlaces } from "../docker-places.ts";

for (const place of dockerPlaces) testKernelEscapes(place);
