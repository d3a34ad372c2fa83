import type { Page } from "../../pages/pages.tsx";
import { anchorOf, readRunbook } from "../runbook.ts";
import { A } from "./parts.tsx";

/** docs/operate.md, so that whoever is woken needs no other place. */
export async function runbookPage(): Promise<Page> {
  const __html = await readRunbook();
  return {
    title: "What to do at each alarm",
    // It is a file of this build, and no text of anybody else's.
    content: <div class="runbook" dangerouslySetInnerHTML={{ __html }} />,
  };
}

export const RunbookLink = ({ heading }: { heading: string }) => (
  <A to={`/runbook#${anchorOf(heading)}`}>Runbook: {heading}</A>
);
