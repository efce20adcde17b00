import { useSyncExternalStore } from "react";
import { storedSetting } from "./stored-setting.ts";

/** Whether this browser notifies the user about their runs. It does not until the user turns it on. */

const setting = storedSetting("notifications");
const listeners = new Set<() => void>();

export type NotificationChoice = "on" | "off" | "blocked" | "unsupported";

function choice(): NotificationChoice {
  if (!("Notification" in window)) return "unsupported";
  if (setting.read() !== "on") return "off";
  return Notification.permission === "granted" ? "on" : "blocked";
}

/** Asks the browser for permission if needed. Returns the resulting choice. */
export async function chooseNotifications(on: boolean): Promise<NotificationChoice> {
  if (on && "Notification" in window) await Notification.requestPermission();
  setting.write(on ? "on" : undefined);
  for (const notify of listeners) notify();
  return choice();
}

export function useNotificationChoice(): NotificationChoice {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, choice);
}
