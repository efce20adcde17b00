import "./theme.css";
import "@outrider/contract/without-eval";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { watchConnection } from "./frame/connection.ts";
import { prefetchWhenIdle, startWithPage } from "./prefetch.ts";
import { queryClient } from "./queries.ts";
import { router } from "./routes.tsx";

watchConnection();
startWithPage();
prefetchWhenIdle();

createRoot(document.getElementById("app") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
