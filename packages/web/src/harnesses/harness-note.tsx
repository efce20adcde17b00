import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import { InlineCode } from "../ui/text/inline-code.tsx";
import { reasonOf, useHarness } from "./harnesses.ts";

/** Explains why a harness is unavailable, or what its first run takes. Shows nothing if there is nothing to say. */
export function HarnessNote({ name }: { name: string }) {
  const harness = useHarness(name);
  if (!harness || harness.name === DEFAULT_HARNESS) return null;
  const { title, available, installed } = harness;
  if (!available) {
    return (
      <span className="text-warn">
        {title} is not available now: <InlineCode text={`${reasonOf(harness)}.`} />
      </span>
    );
  }
  return installed ? null : `A worker installs ${title} when the first run needs it.`;
}
