import clsx from "clsx";
import { visible } from "./visible.ts";

interface TextRegionProps {
  label: string;
  text: string;
  className?: string;
}

/** Text as it is, in a box that scrolls within itself. */
export function TextRegion({ label, text, className }: TextRegionProps) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
      tabIndex={0}
      className={clsx("overflow-auto bg-code p-3 -outline-offset-2", className)}
    >
      <pre className="font-mono text-xs leading-5 [unicode-bidi:plaintext]">{visible(text)}</pre>
    </section>
  );
}
