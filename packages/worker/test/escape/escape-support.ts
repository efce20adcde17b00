import {
  type EscapeFixture as AnyEscapeFixture,
  openEscapeFixture as openFixture,
} from "../conformance/escape/escape-fixture.ts";
import { hostPlace, type LocalPlace } from "../sandboxes/local-places.ts";

/** A sandbox of the local provider for escape attempts that only this provider makes possible. */
export interface EscapeFixture extends AnyEscapeFixture {
  /** The folder of the sandboxes. */
  root: string;
}

export async function openEscapeFixture(place: LocalPlace = hostPlace): Promise<EscapeFixture> {
  let root = "";
  const fixture = await openFixture({
    ...place,
    async open() {
      const opened = await place.open();
      root = opened.root;
      return opened;
    },
  });
  return { ...fixture, root, env: { ...fixture.env, ROOT: root } };
}
