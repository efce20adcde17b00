import clsx from "clsx";
import { sanitize } from "./sanitize.ts";

interface TextRegionProps {
  label: string;
  text: string;
  className?: string;
}

/** Shows preformatted text in a scrollable box. */
export function TextRegion({ label, text, className }: TextRegionProps) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
      tabIndex={0}
      className={clsx("overflow-auto bg-code p-3 -outline-offset-2", className)}
    >
      <pre className="font-mono text-xs leading-5 [unicode-bidi:plaintext]">{sanitize(text)}</pre>
    </section>
  );
}
