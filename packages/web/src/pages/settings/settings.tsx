import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { AdminsOnlyNotice } from "../../frame/admins-only.tsx";
import { queries } from "../../queries.ts";
import { Page } from "../../ui/page.tsx";
import { AccountSettings } from "./account.tsx";
import { Forges } from "./forges/forges.tsx";
import { Harnesses } from "./harnesses.tsx";
import { Limits } from "./limits.tsx";
import { Models } from "./models.tsx";
import { Operations } from "./operations.tsx";
import type { SectionName } from "./search.ts";
import { Users } from "./users.tsx";

const route = getRouteApi("/frame/settings");

const sections: { name: SectionName; label: string; Content: ComponentType; admin: boolean }[] = [
  { name: "you", label: "Account", Content: AccountSettings, admin: false },
  { name: "users", label: "Users", Content: Users, admin: true },
  { name: "models", label: "Models", Content: Models, admin: false },
  { name: "harnesses", label: "Harnesses", Content: Harnesses, admin: false },
  { name: "forges", label: "Forges", Content: Forges, admin: true },
  { name: "limits", label: "Limits", Content: Limits, admin: false },
  { name: "operations", label: "Operations", Content: Operations, admin: true },
];

export function Settings() {
  const { section = "you" } = route.useSearch();
  const { data: me } = useQuery(queries.me());
  const { Content = AccountSettings, admin } = sections.find(({ name }) => name === section) ?? {};
  const isRefused = admin && me !== undefined && me.role !== "admin";
  return (
    <Page title="Settings">
      <div className="grid gap-6 lg:grid-cols-[10rem_minmax(0,1fr)]">
        <nav aria-label="Settings" className="flex flex-wrap gap-1 lg:flex-col">
          {sections
            .filter(({ admin }) => !admin || me?.role === "admin")
            .map(({ name, label }) => (
              <Link
                key={name}
                to="/settings"
                search={{ section: name === "you" ? undefined : name }}
                activeOptions={{ includeSearch: true, explicitUndefined: true }}
                className="flex h-9 items-center rounded-md px-3 text-muted hover:bg-raised hover:text-ink aria-[current=page]:bg-raised aria-[current=page]:font-medium aria-[current=page]:text-ink"
              >
                {label}
              </Link>
            ))}
        </nav>
        <div className="min-w-0">{isRefused ? <AdminsOnlyNotice what="section" /> : <Content />}</div>
      </div>
    </Page>
  );
}
