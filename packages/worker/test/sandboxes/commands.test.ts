import { testCommands } from "../conformance/commands.ts";
import { localPlaces } from "./local-places.ts";

for (const place of localPlaces) testCommands(place);
