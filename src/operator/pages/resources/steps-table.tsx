import type { WaitingStep } from "../../waiting-steps.ts";
import { Moment } from "../moments.tsx";

/** The waiting steps of a resource, and what came of their last try. `now`: by the database's clock. */
export function StepsTable({ steps, now }: { steps: readonly WaitingStep[]; now: string }) {
  if (steps.length === 0) return <p>Nothing is waiting to be done.</p>;
  return (
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">Tries</th>
          <th scope="col">Next try</th>
          <th scope="col">Last answer</th>
        </tr>
      </thead>
      <tbody>
        {steps.map((step) => (
          <tr>
            <th scope="row">
              <code>{step.kind}</code>
            </th>
            <td data-label="Tries">{step.tries}</td>
            <td data-label="Next try">
              <NextTry of={step} now={now} />
            </td>
            <td data-label="Last answer">{step.lastError ?? step.said ?? <span class="quiet">none</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function NextTry({ of: { isUnderWay, nextTryAt }, now }: { of: WaitingStep; now: string }) {
  if (isUnderWay) return <>under way</>;
  if (nextTryAt === null) return <>when there is a working token</>;
  return nextTryAt > now ? <Moment at={nextTryAt} now={now} /> : <>in its turn</>;
}
