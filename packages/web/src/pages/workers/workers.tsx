import { Page } from "../../ui/page.tsx";

export function Workers() {
  return <Page title="Workers">{null}</Page>;
}
