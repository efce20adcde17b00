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
  // `vite` serves the sources while one works on them; everything else is the real server's.
  server: {
    proxy: Object.fromEntries(
      ["/api", "/docs", "/shared"].map((path) => [path, { target: "http://127.0.0.1:4000", xfwd: false }]),
    ),
  },
});
