import { testCommands } from "../conformance/commands.ts";
import { testImages } from "../conformance/images.ts";
import { dockerPlaces } from "./docker-places.ts";

for (const place of dockerPlaces) {
  testCommands(place);
  if (place.system.isImage) testImages(place);
}
