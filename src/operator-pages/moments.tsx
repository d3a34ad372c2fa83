import { duration } from "../operator/wording.ts";

/** A time in readable form, UTC, with its distance from now. */
export function Moment({ at }: { at: string | Date }) {
  const date = new Date(at);
  const iso = date.toISOString();
  return (
    <time dateTime={iso}>
      {iso.slice(0, 16).replace("T", " ")} <span class="quiet">({away(date.getTime() - Date.now())})</span>
    </time>
  );
}

function away(ms: number): string {
  const length = duration(Math.abs(ms) / 1_000);
  if (Math.abs(ms) < 1_000) return "now";
  return ms < 0 ? `${length} ago` : `in ${length}`;
}
