import type { Headers } from "../../wire/ledger.ts";
import { addonAt } from "./addresses.ts";
import type { Call } from "./calls.ts";
import { Moment } from "./parts.tsx";

/** One call in full, as the ledger masks it. */
export function CallDetails({ call }: { call: Call }) {
  const { seq, at, method, path, request, response, fault, addon, ms } = call;
  return (
    <div class="in-full">
      <p>
        <Moment at={at} />, call {seq}
        {addon && (
          <>
            , about <a href={addonAt(addon.name)}>{addon.name}</a>
          </>
        )}
      </p>
      {fault && (
        <p>
          The fault that was applied: <code>{JSON.stringify(fault)}</code>
        </p>
      )}
      <Message title="Request" first={`${method} ${path}`} {...request} />
      {response ? (
        <Message title={`Answer, after ${ms} ms`} first={`HTTP ${response.status}`} {...response} />
      ) : (
        <p>There was no answer.</p>
      )}
    </div>
  );
}

interface MessageProps {
  title: string;
  first: string;
  headers: Headers;
  body: unknown;
}

function Message({ title, first, headers, body }: MessageProps) {
  return (
    <>
      <h3>{title}</h3>
      <pre tabIndex={0} aria-label={title}>
        {[first, ...headerLines(headers), "", bodyText(body)].join("\n").trimEnd()}
      </pre>
    </>
  );
}

function headerLines(headers: Headers): string[] {
  return Object.entries(headers).map(([name, value]) => `${name.toLowerCase()}: ${String(value)}`);
}

function bodyText(body: unknown): string {
  if (body === null || body === undefined) return "";
  return typeof body === "string" ? body : JSON.stringify(body, null, 2);
}
