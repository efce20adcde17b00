import {
  Bot,
  Box,
  House,
  KeyRound,
  Lock,
  Server,
  Settings,
  SquareTerminal,
  WandSparkles,
} from "lucide-react";

/** The places of the app, in the order in which people need them. */
export const places = [
  { to: "/", label: "Home", Sign: House, admin: false },
  { to: "/runs", label: "Runs", Sign: SquareTerminal, admin: false },
  { to: "/environments", label: "Environments", Sign: Box, admin: false },
  { to: "/skills", label: "Skills", Sign: WandSparkles, admin: false },
  { to: "/agents", label: "Cloud agents", Sign: Bot, admin: false },
  { to: "/secrets", label: "Secrets", Sign: Lock, admin: true },
  { to: "/keys", label: "Keys", Sign: KeyRound, admin: false },
  { to: "/workers", label: "Workers", Sign: Server, admin: true },
  { to: "/settings", label: "Settings", Sign: Settings, admin: false },
] as const;

/** What a phone shows in its bar; the rest is one press further. */
export const tabPlaces = places.slice(0, 3);
