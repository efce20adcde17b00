import { useQuery } from "@tanstack/react-query";
import { BookOpen, ChevronsUpDown, Keyboard, LogOut, Monitor, Moon, Sun } from "lucide-react";
import { queries, signOut } from "../queries.ts";
import { Menu, MenuItem, MenuSeparator } from "../ui/overlay/menu.tsx";
import { chooseTheme, type ThemeChoice, useTheme } from "./theme.ts";

const themes: { choice: ThemeChoice; label: string; Icon: typeof Sun }[] = [
  { choice: "system", label: "System theme", Icon: Monitor },
  { choice: "light", label: "Light theme", Icon: Sun },
  { choice: "dark", label: "Dark theme", Icon: Moon },
];

export function UserMenu({ onHelp }: { onHelp: () => void }) {
  const { data: me } = useQuery(queries.me());
  const theme = useTheme();
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className="flex h-10 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-raised"
        >
          <span
            className="grid size-6 shrink-0 place-items-center rounded-full bg-accent-soft text-xs font-semibold text-accent-ink"
            aria-hidden
          >
            {me?.display_name.slice(0, 1).toUpperCase()}
          </span>
          <span className="min-w-0 flex-1 truncate">{me?.display_name ?? "…"}</span>
          <ChevronsUpDown className="size-4 text-muted" aria-hidden />
          <span className="sr-only">Account menu</span>
        </button>
      }
    >
      {themes.map(({ choice, label, Icon }) => (
        <MenuItem
          key={choice}
          icon={<Icon className="size-4" aria-hidden />}
          onSelect={() => chooseTheme(choice)}
        >
          {label}
          {choice === theme && <span className="ml-auto pl-4 text-accent-ink">●</span>}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon={<Keyboard className="size-4" aria-hidden />} onSelect={onHelp}>
        Keyboard shortcuts
      </MenuItem>
      <MenuItem icon={<BookOpen className="size-4" aria-hidden />} onSelect={() => location.assign("/docs")}>
        API reference
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon={<LogOut className="size-4" aria-hidden />} onSelect={() => void signOut()}>
        Sign out
      </MenuItem>
    </Menu>
  );
}
