import type { ReactNode } from "react";

/** Shows an untrusted link. It opens in a new tab without a referrer, and only if it is an HTTP URL. */
export function ExternalLink({ to, children }: { to: string | undefined; children: ReactNode }) {
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
