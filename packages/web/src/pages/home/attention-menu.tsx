import type { AttentionRequest, RunItem } from "@outrider/sdk";
import { AlarmClock, Check } from "lucide-react";
import { IconButton } from "../../ui/button.tsx";
import { Menu, MenuItem } from "../../ui/overlay/menu.tsx";
import { sanitizeLine } from "../../ui/text/sanitize.ts";

interface AttentionMenuProps {
  run: RunItem;
  onDismiss: (body: AttentionRequest) => void;
}

const snoozes = [
  { label: "For 1 hour", until: () => new Date(Date.now() + 3_600_000) },
  { label: "Until tomorrow morning", until: () => morning(1) },
  { label: "Until Monday", until: () => morning((8 - new Date().getDay()) % 7 || 7) },
];

/** Returns 9 o'clock in the user's time zone. */
function morning(inDays: number): Date {
  const date = new Date();
  date.setDate(date.getDate() + inDays);
  date.setHours(9, 0, 0, 0);
  return date;
}

/** Offers to hide a run until its state changes or until later. */
export function AttentionMenu({ run, onDismiss }: AttentionMenuProps) {
  const title = sanitizeLine(run.title);
  return (
    <div className="relative flex shrink-0 items-center">
      <Menu
        trigger={
          <IconButton label={`Snooze ${title}`} icon={<AlarmClock className="size-4" aria-hidden />} />
        }
      >
        {snoozes.map(({ label, until }) => (
          <MenuItem key={label} onSelect={() => onDismiss({ snoozed_until: until().toISOString() })}>
            {label}
          </MenuItem>
        ))}
      </Menu>
      <IconButton
        label={`Dismiss ${title}`}
        icon={<Check className="size-4" aria-hidden />}
        onClick={() => onDismiss({})}
      />
    </div>
  );
}
