import { Link } from "@tanstack/react-router";
import { Compass, Trash2 } from "lucide-react";
import { buttonClass } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";

/** No run here: it never was, it is not for this reader, or it went while somebody looked at it. */
export function Missing({ wasThere }: { wasThere: boolean }) {
  const Sign = wasThere ? Trash2 : Compass;
  return (
    <main id="main">
      <Empty
        icon={<Sign className="size-5" aria-hidden />}
        title={wasThere ? "This run was deleted" : "There is no such run"}
        action={
          <Link to="/runs" className={buttonClass("primary")}>
            See all runs
          </Link>
        }
      >
        {wasThere
          ? "Somebody deleted it with everything of it while you were here."
          : "The link may be mistyped, the run may be deleted, or it may belong to somebody whose runs you cannot see."}
      </Empty>
    </main>
  );
}
