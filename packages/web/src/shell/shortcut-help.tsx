import { useState } from "react";
import { Dialog } from "../ui/dialog.tsx";
import { Checkbox } from "../ui/field.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { singleKeysAreOn, switchSingleKeys, useActiveShortcuts } from "./shortcuts.ts";

export function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const shortcuts = useActiveShortcuts();
  const [on, setOn] = useState(singleKeysAreOn);
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts" description="Those that work on this page.">
      <dl className="divide-y divide-line">
        {shortcuts.map(({ keys, what }) => (
          <div key={keys} className="flex items-center justify-between gap-4 py-2">
            <dt>{what}</dt>
            <dd>
              <Kbd keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
      <Checkbox
        className="mt-4 border-t border-line pt-4"
        label="Shortcuts of a single key"
        hint="Switch them off if they get in the way of dictation or slip under your fingers."
        checked={on}
        onChange={({ target }) => {
          setOn(target.checked);
          switchSingleKeys(target.checked);
        }}
      />
    </Dialog>
  );
}
