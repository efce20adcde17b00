import type { Me } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { ConnectionBanner } from "../../frame/connection-banner.tsx";
import { Toaster } from "../../frame/toaster.tsx";
import { queries } from "../../queries.ts";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { useTabTitle } from "../../ui/tab-title.ts";
import { FirstPassword } from "./first-password.tsx";
import { LinkForm } from "./link-form.tsx";
import { PasswordForm } from "./password-form.tsx";
import { pathAfterSignIn } from "./redirect.ts";

const route = getRouteApi("/login");

/**
 * The sign-in page, which accepts a password or a one-time link. A link contains its token in the fragment, which
 * servers do not log. The token is used only when the user presses the button, because mail and chat clients open links
 * to preview them.
 */
export function Login() {
  useTabTitle("Sign in");
  const { next, ended = false } = route.useSearch();
  const { history } = useRouter();
  const [token, setToken] = useState(tokenInAddress);
  const [newUser, setNewUser] = useState<Me>();
  // The page that led here may already know that nobody is signed in.
  const { data: me, isFetched } = useQuery({
    ...queries.me(),
    enabled: token === undefined,
    retryOnMount: false,
  });
  const isSignedIn = me !== undefined && newUser === undefined && token === undefined;

  useEffect(() => {
    if (isSignedIn) void pathAfterSignIn(next).then((path) => history.replace(path));
  }, [isSignedIn, next, history]);

  // A link pasted into a tab that shows this page changes only the fragment, so the browser does not load the page.
  useEffect(() => {
    const readToken = () => {
      const pasted = tokenInAddress();
      if (pasted !== undefined) setToken(pasted);
    };
    addEventListener("hashchange", readToken);
    return () => removeEventListener("hashchange", readToken);
  }, []);

  function forgetToken() {
    window.history.replaceState(window.history.state, "", location.pathname + location.search);
    setToken(undefined);
  }

  return (
    <main id="main" className="flex min-h-dvh flex-col">
      <ConnectionBanner />
      <div className="m-auto w-full max-w-sm px-4 py-10">
        <div className="mb-6 flex items-center justify-center gap-2 text-lg font-semibold tracking-tight">
          <img src="/favicon.svg" alt="" className="size-6" />
          Outrider
        </div>
        <div className="rounded-xl border border-line bg-surface p-6">
          {newUser ? (
            <FirstPassword me={newUser} onDone={() => setNewUser(undefined)} />
          ) : token !== undefined ? (
            <LinkForm
              key={token}
              token={token}
              onSignedIn={(me) => {
                if (!me.session?.has_password) setNewUser(me);
                forgetToken();
              }}
              onUsePassword={forgetToken}
            />
          ) : // When the connection is back, the check runs again. The form must not lose its input.
          !isFetched || isSignedIn ? (
            <SkeletonRows rows={4} label="Checking sign-in" />
          ) : (
            <PasswordForm hasEnded={ended} />
          )}
        </div>
      </div>
      <Toaster />
    </main>
  );
}

function tokenInAddress(): string | undefined {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
}
