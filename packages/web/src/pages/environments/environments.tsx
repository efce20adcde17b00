import { Page } from "../../ui/page.tsx";

export function Environments() {
  return <Page title="Environments">{null}</Page>;
}
