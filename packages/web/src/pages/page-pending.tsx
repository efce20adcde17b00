import { ConnectionBanner } from "../frame/connection-banner.tsx";
import { SkeletonRows } from "../ui/feedback/skeleton.tsx";

/** Takes the place of a page while its code loads. */
export function PagePending() {
  return (
    <main id="main" className="mx-auto w-full max-w-5xl px-4 pt-5 sm:px-6 lg:px-8">
      <SkeletonRows label="Loading page" />
    </main>
  );
}

/** Takes the place of the whole app while its first page loads. */
export function AppPending() {
  return (
    <>
      <ConnectionBanner />
      <PagePending />
    </>
  );
}
