import type { Me } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { queries } from "../../queries.ts";
import { Announcer } from "../../shell/announcer.tsx";
import { useTitle } from "../../ui/page.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { FirstPassword } from "./first-password.tsx";
import { LinkForm } from "./link-form.tsx";
import { placeAfter } from "./next.ts";
import { PasswordForm } from "./password-form.tsx";

const route = getRouteApi("/login");

/**
 * One page for every way in. A one-time link carries its token behind `#`, where no log sees it, and spends it only when
 * the person presses the button: programs that open links in mails and chats to look at them press none.
 */
export function Login() {
  useTitle("Sign in");
  const { next } = route.useSearch();
  const { history } = useRouter();
  const [token, setToken] = useState(tokenInAddress);
  const [newcomer, setNewcomer] = useState<Me>();
  const { data: me, isPending } = useQuery({ ...queries.me(), enabled: token === undefined });
  const isIn = me !== undefined && newcomer === undefined && token === undefined;

  useEffect(() => {
    if (isIn) void placeAfter(next).then((place) => history.replace(place));
  }, [isIn, next, history]);

  function forgetToken() {
    window.history.replaceState(window.history.state, "", location.pathname + location.search);
    setToken(undefined);
  }

  return (
    <main id="main" className="grid min-h-dvh place-items-center px-4 py-10">
      <div className="w-full max-w-sm">
        <div className="mb-6 flex items-center justify-center gap-2 text-lg font-semibold tracking-tight">
          <img src="/favicon.svg" alt="" className="size-6" />
          Outrider
        </div>
        <div className="rounded-xl border border-line bg-surface p-6">
          {newcomer ? (
            <FirstPassword me={newcomer} onDone={() => setNewcomer(undefined)} />
          ) : token !== undefined ? (
            <LinkForm
              token={token}
              onSignedIn={(me) => {
                if (!me.session?.has_password) setNewcomer(me);
                forgetToken();
              }}
              onOtherWay={forgetToken}
            />
          ) : isPending || isIn ? (
            <SkeletonRows rows={4} label="Looking whether you are signed in" />
          ) : (
            <PasswordForm />
          )}
        </div>
      </div>
      <Announcer />
    </main>
  );
}

function tokenInAddress(): string | undefined {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
}
