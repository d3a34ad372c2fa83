import { duration } from "../../wording.ts";
import { BarChart } from "./bar-chart.tsx";
import type { Gauges } from "./gauges.ts";
import type { Hour } from "./hours.ts";

/** How old the access tokens in use are. A token is refreshed at about half of its life. */
export function TokenAges({ ages, isEstimated }: { ages: Gauges["tokenAges"]; isEstimated: boolean }) {
  const bars = ages.map(({ upToSeconds, count }, index) => {
    const from = duration(ages[index - 1]?.upToSeconds ?? 0);
    const range = upToSeconds === null ? `over ${from}` : `${from} to ${duration(upToSeconds)}`;
    return {
      label: upToSeconds === null ? "older" : short(upToSeconds),
      isMinor: index % 2 === 0,
      parts: [{ value: count, isBad: upToSeconds === null || upToSeconds > NEAR_THE_END_SECONDS }],
      inWords: `${range}: ${count}`,
    };
  });
  return (
    <BarChart
      id="ages"
      title={`Age of the tokens in use${isEstimated ? ", estimated" : ""}`}
      bars={bars}
      empty="There are no tokens in use yet."
    />
  );
}

/** Tokens live for eight hours: older than six means that refreshes have failed for hours. */
const NEAR_THE_END_SECONDS = 6 * 3_600;

function short(seconds: number): string {
  return seconds < 3_600 ? `${seconds / 60} m` : `${seconds / 3_600} h`;
}

export function RefreshesPerHour({ hours }: { hours: readonly Hour[] }) {
  const bars = hours.map(({ at, refreshed, failed }, index) => {
    const hour = at.toISOString().slice(11, 13);
    return {
      label: (hours.length - 1 - index) % 4 === 0 ? hour : "",
      parts: [{ value: refreshed }, { value: failed, isBad: true }],
      inWords: `${hour}:00 UTC: ${refreshed} refreshed, ${failed} failed`,
    };
  });
  return (
    <BarChart
      id="refreshes"
      title="Refreshes per hour (UTC)"
      bars={bars}
      empty="The service refreshed none within the last 24 hours. What kit refreshes is not counted here."
    />
  );
}
