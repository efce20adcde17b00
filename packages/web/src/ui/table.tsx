import clsx from "clsx";
import type { ComponentProps, ReactNode } from "react";

/** Shows a table for short lists. The table scrolls horizontally on its own, so the page never has to. */
export function Table({ label, head, children }: { label: string; head: ReactNode; children: ReactNode }) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
      tabIndex={0}
      className="overflow-x-auto rounded-xl border border-line bg-surface"
    >
      <table className="w-full border-collapse text-left">
        <thead className="border-b border-line text-xs text-muted">
          <tr>{head}</tr>
        </thead>
        <tbody className="divide-y divide-line">{children}</tbody>
      </table>
    </section>
  );
}

export function Th({ className, ...rest }: ComponentProps<"th">) {
  return <th scope="col" {...rest} className={clsx("h-9 whitespace-nowrap px-4 font-medium", className)} />;
}

export function Td({ className, ...rest }: ComponentProps<"td">) {
  return <td {...rest} className={clsx("px-4 py-2.5 align-middle", className)} />;
}
