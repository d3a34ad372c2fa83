import type { RequestHandler } from "express";
import type { Platform } from "../../platform.ts";

/** Changes within this time are sent as one event. */
const GATHER_MS = 60;

/** Server-sent events without content: each says that something has happened, and the page fetches itself again. */
export function liveEvents({ changes, closing }: Platform): RequestHandler {
  return (req, res) => {
    res.status(200).type("text/event-stream");
    if (req.method === "HEAD") return void res.end();
    res.write("retry: 1000\n\n");
    let timer: NodeJS.Timeout | undefined;
    const stopWatching = changes.watch(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        res.write("data: changed\n\n");
      }, GATHER_MS);
    });
    const end = () => {
      stopWatching();
      clearTimeout(timer);
      closing.removeEventListener("abort", end);
      res.end();
    };
    req.on("close", end);
    closing.addEventListener("abort", end);
  };
}
