import { Checkbox } from "../ui/form/field.tsx";
import {
  chooseNotifications,
  type NotificationChoice,
  useNotificationChoice,
} from "./notification-choice.ts";
import { showToast } from "./toasts.ts";

const hints: Record<NotificationChoice, string> = {
  on: "Shown while Outrider is open in a tab that you are not looking at.",
  off: "Shown while Outrider is open in a tab that you are not looking at.",
  blocked: "This browser blocks notifications of this site. Allow them in its settings for the site.",
  unsupported: "This browser does not support notifications here. They need HTTPS or localhost.",
};

/** Lets the user choose notifications in this browser. */
export function NotificationSetting() {
  const choice = useNotificationChoice();
  return (
    <Checkbox
      label="Notify me when one of my runs needs an answer or ends"
      hint={hints[choice]}
      checked={choice === "on"}
      disabled={choice === "unsupported"}
      onChange={async ({ target }) => {
        const result = await chooseNotifications(target.checked);
        if (result === "on") showToast("Notifications turned on");
      }}
    />
  );
}
