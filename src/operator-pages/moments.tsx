/** A time as people read it, UTC, with how far away it is. */
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

/** A length of time in one unit: 40 s, 12 min, 3 h, 4 days. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}
