import clsx from "clsx";
import type { ReactNode } from "react";
import { useTabTitle } from "./tab-title.ts";

interface PageProps {
  title: string;
  /** One sentence that explains the page's purpose. */
  lead?: ReactNode;
  /** The page's primary button and related actions. */
  actions?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}

/** Defines the layout of every page except the run page. */
export function Page({ title, lead, actions, wide = false, children }: PageProps) {
  useTabTitle(title);
  return (
    <main
      id="main"
      className={clsx(
        "mx-auto w-full px-4 pt-5 pb-24 sm:px-6 lg:px-8",
        wide ? "max-w-screen-2xl" : "max-w-5xl",
      )}
    >
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2 pb-4">
        {/* The title is as high as a button, so that it stays in place if the actions appear later. */}
        <h1 className="min-w-0 flex-1 py-1 text-xl font-semibold tracking-tight">{title}</h1>
        {actions && <div className="flex items-center gap-2">{actions}</div>}
        {lead && (
          <div className="basis-full">
            <p className="max-w-prose text-muted">{lead}</p>
          </div>
        )}
      </header>
      {children}
    </main>
  );
}

/** Shows a bordered section of a page with its own heading. */
export function Section({ title, lead, actions, children }: Omit<PageProps, "wide">) {
  return (
    <section className="mb-6 rounded-xl border border-line bg-surface">
      <header className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-3">
        <div className="min-w-0 flex-1">
          <h2 className="font-semibold">{title}</h2>
          {lead && <p className="mt-0.5 text-muted">{lead}</p>}
        </div>
        {actions}
      </header>
      <div className="p-4">{children}</div>
    </section>
  );
}
