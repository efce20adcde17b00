import { AuthenticationError } from "@outrider/sdk";
import { redirect } from "@tanstack/react-router";
import { queries, queryClient } from "../queries.ts";

/** Opens the sign-in page if nobody is signed in. It leads back to the requested page. */
export async function requireSignIn(href: string) {
  try {
    await queryClient.ensureQueryData({ ...queries.me(), meta: { isGuard: true } });
  } catch (error) {
    // The page itself shows other errors.
    if (error instanceof AuthenticationError)
      throw redirect({ to: "/login", search: href === "/" ? {} : { next: href }, replace: true });
  }
}
