import { testKernelEscapes } from "../conformance/escape/kernel.ts";
import { localPlaces } from "../sandboxes/local-places.ts";

for (const place of localPlaces) testKernelEscapes(place);
