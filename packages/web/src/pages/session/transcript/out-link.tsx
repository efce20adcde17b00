import type { ReactNode } from "react";

/** A link that somebody else wrote: out of the app, without a word about where it came from, and only to the web. */
export function OutLink({ to, children }: { to: string | undefined; children: ReactNode }) {
  if (!to || !/^https?:\/\//i.test(to))
    return <span className="underline decoration-dotted">{children}</span>;
  return (
    <a
      href={to}
      target="_blank"
      rel="noopener noreferrer"
      title={to}
      className="text-accent-ink underline underline-offset-2"
    >
      {children}
    </a>
  );
}
