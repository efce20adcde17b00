import { Page } from "../../ui/page.tsx";

export function Welcome() {
  return <Page title="Welcome">{null}</Page>;
}
