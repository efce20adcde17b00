import {
  Bot,
  Box,
  ChartColumn,
  House,
  KeyRound,
  LayoutTemplate,
  Lock,
  Server,
  Settings,
  SquareTerminal,
  WandSparkles,
} from "lucide-react";

/** The app's main navigation. */
export const navItems = [
  { to: "/", label: "Home", Icon: House, admin: false },
  { to: "/runs", label: "Runs", Icon: SquareTerminal, admin: false },
  { to: "/insights", label: "Insights", Icon: ChartColumn, admin: false },
  { to: "/environments", label: "Environments", Icon: Box, admin: false },
  { to: "/skills", label: "Skills", Icon: WandSparkles, admin: false },
  { to: "/templates", label: "Templates", Icon: LayoutTemplate, admin: false },
  { to: "/agents", label: "Cloud agents", Icon: Bot, admin: false },
  { to: "/secrets", label: "Secrets", Icon: Lock, admin: true },
  { to: "/keys", label: "Keys", Icon: KeyRound, admin: false },
  { to: "/workers", label: "Workers", Icon: Server, admin: true },
  { to: "/settings", label: "Settings", Icon: Settings, admin: false },
] as const;

/** The items in the bottom bar on phones. All others are in the menu. */
export const tabBarItems = navItems.filter(
  ({ to }) => to === "/" || to === "/runs" || to === "/environments",
);
