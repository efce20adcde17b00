import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss()],
  build: {
    target: "es2023",
    // Inlined files would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // The worker that highlights code loads each grammar when it needs it.
  worker: { format: "es" },
  // The development server serves the sources and proxies everything else to a running Outrider server.
  server: {
    proxy: Object.fromEntries(
      ["/api", "/docs", "/shared"].map((path) => [path, { target: "http://127.0.0.1:4000", xfwd: false }]),
    ),
  },
});
