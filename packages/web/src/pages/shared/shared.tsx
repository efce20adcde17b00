import { Page } from "../../ui/page.tsx";

export function Shared() {
  return <Page title="A shared run">{null}</Page>;
}
