import { createHttp, type Http } from "./http.ts";

/** A way out to the platform for as long as `ask` takes, closed whatever comes of it. Takes the limits of a client. */
export async function withHttp<Result>(
  ask: (http: Http) => Promise<Result>,
  limits?: Parameters<typeof createHttp>[0],
): Promise<Result> {
  const http = createHttp(limits);
  try {
    return await ask(http);
  } finally {
    await http.close();
  }
}
