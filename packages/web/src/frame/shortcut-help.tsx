import { Kbd } from "../ui/kbd.tsx";
import { Dialog } from "../ui/overlay/dialog.tsx";
import { useActiveShortcuts } from "./shortcuts.ts";
import { SingleKeySetting } from "./single-key-setting.tsx";

export function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const shortcuts = useActiveShortcuts();
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts" description="Shortcuts available on this page.">
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
      <SingleKeySetting className="mt-4 border-t border-line pt-4" />
    </Dialog>
  );
}
