import { CallDetails } from "./call-details.tsx";
import { callName, shortPath } from "./call-name.ts";
import type { Call } from "./calls.ts";
import { Empty } from "./parts.tsx";

/** Calls in both directions as a sequence diagram, built as a list: each row unfolds to its request and its answer. */
export function Sequence({ calls, teach }: { calls: Call[]; teach: string }) {
  if (calls.length === 0) return <Empty>{teach}</Empty>;
  return (
    <div class="sequence">
      <div class="lanes" aria-hidden="true">
        <span>The platform</span>
        <span>Your service</span>
      </div>
      <ol>
        {calls.map((call) => (
          <Row call={call} />
        ))}
      </ol>
    </div>
  );
}

function Row({ call }: { call: Call }) {
  const { seq, at, direction, method, path, ms, fault, complaints } = call;
  const name = callName(call);
  const [from, to] =
    direction === "out" ? ["The platform", "your service"] : ["Your service", "the platform"];
  return (
    <li class={`call ${direction} ${outcomeOf(call)}`} id={`call-${seq}`}>
      <details data-key={`call-${seq}`}>
        <summary>
          <span class="visually-hidden">{`${from} calls ${to}: `}</span>
          <span class="arrow ask">
            <span class="name">{name}</span> <code>{`${method} ${shortPath(path)}`}</code>
          </span>
          <span class="visually-hidden">. </span>
          <span class="arrow answer">
            <span>
              <span class="said">{answerText(call)}</span> <span class="ms">{`${Math.round(ms)} ms`}</span>
            </span>
            <span class="visually-hidden">, at </span>
            <time class="when" dateTime={at}>
              {at.slice(11, 19)}
            </time>
          </span>
          {(fault ?? complaints) && (
            <span class="remarks">
              {fault && <span class="remark">a fault was applied</span>}
              {complaints?.map((complaint) => (
                <span class="remark bad">{complaint}</span>
              ))}
            </span>
          )}
        </summary>
        <CallDetails call={call} />
      </details>
    </li>
  );
}

export function answerText({ response }: Pick<Call, "response">): string {
  if (response === null) return "no answer";
  const { error, id } = (response.body ?? {}) as { error?: unknown; id?: unknown };
  const reason = response.status >= 400 ? (error ?? id) : undefined;
  return typeof reason === "string" ? `${response.status} ${reason}` : String(response.status);
}

export function outcomeOf({ response }: Pick<Call, "response">): "good" | "refused" | "lost" {
  if (response === null) return "lost";
  return response.status < 400 ? "good" : "refused";
}
