import { Page } from "../../ui/page.tsx";

export function Secrets() {
  return <Page title="Secrets">{null}</Page>;
}
