import type { Place } from "../conformance/place.ts";
import { describeEnginePlaces } from "./engine-places.ts";
import { sharedDocker } from "./shared-docker.ts";

const docker = describeEnginePlaces({ name: "docker", host: sharedDocker });

export const dockerPlace = docker.plain;
export const dockerImagePlace = docker.withImage;
export const dockerPlaces: Place[] = [dockerPlace, dockerImagePlace];

/** An engine that cannot mount overlays, so that bases are copied. */
export const dockerCopiesPlace = describeEnginePlaces({
  ...{ name: "docker without overlays", host: sharedDocker, options: { canOverlay: false } },
}).plain;
