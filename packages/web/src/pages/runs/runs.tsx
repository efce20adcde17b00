import { Page } from "../../ui/page.tsx";

export function Runs() {
  return <Page title="Runs">{null}</Page>;
}
