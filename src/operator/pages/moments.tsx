import { duration } from "../wording.ts";

/**
 * A time in readable form, UTC, with its distance from now. `now`: by the clock that the time is of, for what may be
 * still to come; without it, what is later than our own clock is shown as "now".
 */
export function Moment({ at, now }: { at: string | Date; now?: string }) {
  const date = new Date(at);
  const iso = date.toISOString();
  const ms = date.getTime() - (now === undefined ? Date.now() : Date.parse(now));
  return (
    <time dateTime={iso}>
      {iso.slice(0, 16).replace("T", " ")}{" "}
      <span class="quiet">({away(now === undefined ? Math.min(ms, 0) : ms)})</span>
    </time>
  );
}

function away(ms: number): string {
  const length = duration(Math.abs(ms) / 1_000);
  if (Math.abs(ms) < 1_000) return "now";
  return ms < 0 ? `${length} ago` : `in ${length}`;
}
