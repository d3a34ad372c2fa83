import { createHttp, type Http } from "./http.ts";

/**
 * Runs `ask` with an HTTP client of its own, which is closed afterwards in any case. `limits` are those of the client.
 */
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
