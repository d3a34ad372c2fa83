import { CallDetails } from "./call-details.tsx";
import { callName, shortPath } from "./call-name.ts";
import type { Call } from "./calls.ts";
import { Empty } from "./parts.tsx";
import { answerText, outcomeOf } from "./sequence.tsx";

/** A list of calls, the newest first, with request and answer. */
export function CallList({ calls, teach }: { calls: Call[]; teach: string }) {
  if (calls.length === 0) return <Empty>{teach}</Empty>;
  return (
    <ol class="call-list" reversed>
      {calls.toReversed().map((call) => (
        <li id={`call-${call.seq}`}>
          <details data-key={`call-${call.seq}`}>
            <summary>
              <time class="when" dateTime={call.at}>
                {call.at.slice(11, 19)}
              </time>
              <span class="way">{call.direction === "out" ? "to the service" : "to the platform"}</span>
              <code>{`${call.method} ${shortPath(call.path)}`}</code>
              <span class={`said ${outcomeOf(call)}`}>{answerText(call)}</span>
              <span class="ms">{`${Math.round(call.ms)} ms`}</span>
              <span class="name">{callName(call)}</span>
            </summary>
            <CallDetails call={call} />
          </details>
        </li>
      ))}
    </ol>
  );
}
