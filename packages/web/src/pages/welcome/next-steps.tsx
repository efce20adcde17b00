import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Box, KeyRound, UserPlus } from "lucide-react";
import { queries } from "../../queries.ts";

const steps = [
  {
    to: "/environments",
    search: {},
    admin: true,
    Icon: Box,
    title: "Create an environment",
    what: "Your repositories and tools, ready in every sandbox.",
  },
  {
    to: "/keys",
    search: { new: "personal" },
    admin: false,
    Icon: KeyRound,
    title: "Create a key",
    what: "Start runs from scripts, CI and the command line.",
  },
  {
    to: "/settings",
    search: { section: "users" },
    admin: true,
    Icon: UserPlus,
    title: "Invite users",
    what: "They can see all runs and start their own.",
  },
] as const;

export function NextSteps() {
  const { data: me } = useQuery(queries.me());
  const shown = steps.filter(({ admin }) => !admin || me?.role === "admin");
  return (
    <section className="pt-6">
      <h2 className="pb-3 font-semibold">Next steps</h2>
      <ul className="grid gap-3 sm:grid-cols-3">
        {shown.map(({ to, search, Icon, title, what }) => (
          <li key={to}>
            <Link
              to={to}
              search={search}
              className="flex h-full flex-col gap-1 rounded-xl border border-line bg-surface p-4 hover:bg-raised"
            >
              <Icon className="size-5 text-accent-ink" aria-hidden />
              <span className="pt-1 font-medium">{title}</span>
              <span className="text-muted">{what}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
