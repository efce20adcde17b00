import { Skeleton, SkeletonRows } from "../../ui/feedback/skeleton.tsx";

/** Shows the page's layout while the run is loading. */
export function SessionSkeleton() {
  return (
    <main id="main" data-fills className="flex min-h-0 flex-1 flex-col">
      <div className="border-b border-line bg-surface px-4 py-3 sm:px-6">
        <Skeleton className="h-6 w-72 max-w-full" />
        <Skeleton className="mt-3 h-4 w-md max-w-full" />
        <Skeleton className="mt-4 h-5 w-96 max-w-full" />
      </div>
      <div className="mx-auto w-full max-w-4xl flex-1 px-4 py-4">
        <SkeletonRows rows={8} label="Loading run" />
      </div>
    </main>
  );
}
