import { testCommands } from "../conformance/commands.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) testCommands(place);
