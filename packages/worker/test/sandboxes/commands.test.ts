import { testCommands } from "../conformance/commands.ts";
import { testImages } from "../conformance/images.ts";
import { localPlaces } from "./local-places.ts";

for (const place of localPlaces) {
  testCommands(place);
  if (place.system.isImage) testImages(place);
}
