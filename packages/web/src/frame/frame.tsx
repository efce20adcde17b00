import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useMatches } from "@tanstack/react-router";
import clsx from "clsx";
import { Ellipsis } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { queries } from "../queries.ts";
import { Kbd } from "../ui/kbd.tsx";
import { Dialog } from "../ui/overlay/dialog.tsx";
import { AdminsOnly } from "./admins-only.tsx";
import { usePolledAttention } from "./attention.ts";
import { AttentionBadge } from "./attention-badge.tsx";
import { Banner } from "./banner.tsx";
import { loadPart } from "./connection.ts";
import { ConnectionBanner } from "./connection-banner.tsx";
import { navItems, tabBarItems } from "./nav.ts";
import { useNotificationChoice } from "./notification-choice.ts";
import { useShortcut } from "./shortcuts.ts";
import { Toaster } from "./toaster.tsx";
import { UserMenu } from "./user-menu.tsx";

const Palette = lazy(() =>
  loadPart(() => import("./palette.tsx")).then(({ Palette }) => ({ default: Palette })),
);
const Notifications = lazy(() =>
  loadPart(() => import("./notifications.ts")).then(({ Notifications }) => ({ default: Notifications })),
);
const ShortcutHelp = lazy(() =>
  loadPart(() => import("./shortcut-help.tsx")).then(({ ShortcutHelp }) => ({ default: ShortcutHelp })),
);

/** Defines the layout of every signed-in page. The navigation is in a sidebar or, on phones, in a bar at the bottom. */
export function Frame() {
  const [open, setOpen] = useState<"palette" | "help" | "more">();
  const close = () => setOpen(undefined);
  const { data: me } = useQuery(queries.me());
  usePolledAttention();
  const isNotified = useNotificationChoice() === "on";
  const isAdminPage = useMatches().some(({ staticData }) => staticData.isAdminOnly);
  const isRefused = isAdminPage && me !== undefined && me.role !== "admin";
  useShortcut({ keys: "mod+k", what: "Open command menu", run: () => setOpen("palette") });
  useShortcut({ keys: "?", what: "Show keyboard shortcuts", run: () => setOpen("help") });
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[13.5rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="sr-only z-60 rounded-md bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col border-r border-line bg-surface p-3 md:flex">
        <Link
          to="/"
          className="flex items-center gap-2 rounded-md px-2 py-2 text-base font-semibold tracking-tight"
        >
          <img src="/favicon.svg" alt="" className="size-5" />
          Outrider
        </Link>
        <button
          type="button"
          onClick={() => setOpen("palette")}
          className="mt-2 mb-3 flex h-8 items-center justify-between rounded-md border border-line px-2 text-muted hover:bg-raised"
        >
          Search <Kbd keys="mod+k" />
        </button>
        <NavLinks />
        <div className="mt-auto pt-3">
          <UserMenu onHelp={() => setOpen("help")} />
        </div>
      </aside>
      {/* A full-height page uses the height that remains below the banner. */}
      <div className="min-w-0 has-[>[data-fills]]:flex has-[>[data-fills]]:h-[calc(100dvh-3.5rem)] has-[>[data-fills]]:flex-col md:has-[>[data-fills]]:h-dvh">
        <ConnectionBanner />
        <Banner />
        {isRefused ? <AdminsOnly /> : <Outlet />}
      </div>
      <nav
        aria-label="Main"
        className="fixed inset-x-0 bottom-0 z-40 grid grid-cols-4 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
      >
        {tabBarItems.map(({ to, label, Icon }) => (
          <Link
            key={to}
            to={to}
            className={tab}
            activeOptions={{ exact: to === "/" }}
            activeProps={{ className: "text-accent-ink" }}
          >
            <span className="relative">
              <Icon className="size-5" aria-hidden />
              {to === "/" && <AttentionBadge className="absolute -top-1.5 left-3" />}
            </span>
            {label}
          </Link>
        ))}
        <button type="button" className={tab} onClick={() => setOpen("more")}>
          <Ellipsis className="size-5" aria-hidden />
          More
        </button>
      </nav>
      <Dialog open={open === "more"} onClose={close} title="Menu" sheet>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: activating any link closes the sheet, by key or pointer. */}
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: as above. */}
        <div onClick={close}>
          <NavLinks />
        </div>
        <div className="mt-4 border-t border-line pt-4">
          <UserMenu onHelp={() => setOpen("help")} />
        </div>
      </Dialog>
      <Suspense>
        {isNotified && <Notifications />}
        {open === "palette" && <Palette onClose={close} onHelp={() => setOpen("help")} />}
        {open === "help" && <ShortcutHelp onClose={close} />}
      </Suspense>
      <Toaster />
    </div>
  );
}

const tab = clsx("flex h-14 flex-col items-center justify-center gap-0.5 text-[11px] text-muted");

function NavLinks() {
  const { data: me } = useQuery(queries.me());
  const shown = navItems.filter(({ admin }) => !admin || me?.role === "admin");
  return (
    <nav aria-label="Main" className="flex flex-col gap-0.5">
      {shown.map(({ to, label, Icon }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: to === "/", includeSearch: false }}
          className="flex h-8 items-center gap-2.5 rounded-md px-2 text-muted hover:bg-raised hover:text-ink"
          activeProps={{ className: "bg-raised font-medium text-ink!" }}
        >
          <Icon className="size-4" aria-hidden />
          {label}
          {to === "/" && <AttentionBadge className="ml-auto" />}
        </Link>
      ))}
    </nav>
  );
}
