import { LEDGER } from "./addresses.ts";
import { CallList } from "./call-list.tsx";
import { latestCalls } from "./calls.ts";
import type { ShowPage } from "./page.ts";
import { Section } from "./parts.tsx";
import { Sequence } from "./sequence.tsx";

const MOST = 50;
const teach =
  "No call yet. All calls between the platform and your service are listed here. Install the add-on first.";

/** Every call both ways, as a diagram or as a list. */
export const ledgerPage: ShowPage = ({ platform, query }) => {
  const isList = query["view"] === "list";
  const before = Number(query["before"] ?? NaN);
  const isPart = Number.isInteger(before) && before > 0;
  const { calls, hasEarlier } = latestCalls(platform, { most: MOST, ...(isPart && { before }) });
  return {
    title: "Ledger",
    part: "ledger",
    content: (
      <>
        <h1>Ledger</h1>
        <p class="lead">
          All calls in both directions, in the order in which they ended. Open one to see its request and its
          answer, with secrets masked.
        </p>
        <nav class="views" aria-label="Views">
          <ul>
            <li>
              <a href={LEDGER} {...(!isList && { "aria-current": "page" })}>
                Diagram
              </a>
            </li>
            <li>
              <a href={`${LEDGER}?view=list`} {...(isList && { "aria-current": "page" })}>
                List
              </a>
            </li>
          </ul>
        </nav>
        <Section title={isPart ? `Calls before ${before}` : "Latest calls"} id="calls" isLive>
          {!isList && <Earlier {...{ calls, hasEarlier, isList }} />}
          {isList ? <CallList calls={calls} teach={teach} /> : <Sequence calls={calls} teach={teach} />}
          {isList && <Earlier {...{ calls, hasEarlier, isList }} />}
        </Section>
      </>
    ),
  };
};

interface EarlierProps {
  calls: { seq: number }[];
  hasEarlier: boolean;
  isList: boolean;
}

function Earlier({ calls, hasEarlier, isList }: EarlierProps) {
  if (!hasEarlier) return null;
  const before = `before=${calls[0]!.seq}`;
  return (
    <p>
      <a href={`${LEDGER}?${isList ? "view=list&" : ""}${before}`}>Earlier calls</a>
    </p>
  );
}
