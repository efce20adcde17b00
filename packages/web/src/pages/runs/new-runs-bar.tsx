import { ArrowUp } from "lucide-react";
import { formatCount } from "../../ui/format/numbers.ts";

/** Offers to load new runs. The bar floats above the list so that rows do not move while the user is reading. */
export function NewRunsBar({ count: amount, onShow }: { count: number; onShow: () => void }) {
  return (
    <div role="status" className="pointer-events-none sticky top-3 z-30 flex h-0 justify-center">
      {amount > 0 && (
        <button
          type="button"
          onClick={onShow}
          className="pointer-events-auto -mt-2 inline-flex h-9 items-center gap-1.5 rounded-full bg-accent px-4 text-xs font-medium text-on-accent shadow-pop hover:bg-accent-hover"
        >
          <ArrowUp className="size-3.5" aria-hidden />
          Show {amount === 1 ? "1 new run" : `${formatCount(amount)} new runs`}
        </button>
      )}
    </div>
  );
}
