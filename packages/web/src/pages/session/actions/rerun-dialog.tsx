import type { RunItem } from "@outrider/sdk";
import { Dialog } from "../../../ui/dialog.tsx";

/** The same again, or almost: everything can be changed before it is asked for. */
export function RerunDialog({ onClose }: { run: RunItem; onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} sheet title="Re-run with changes">
      {null}
    </Dialog>
  );
}
