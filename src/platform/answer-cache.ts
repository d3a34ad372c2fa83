import type { HttpAnswer } from "./http.ts";

/** Answers that the platform may confirm with a 304 instead of sending them again. */
export interface AnswerCache {
  /**
   * The stored answer. Look it up before the call and pass it to `fresh`: it may be evicted before the call is
   * answered.
   */
  known(key: string): KnownAnswer | undefined;
  /** The answer itself, or the `known` one that it confirms. */
  fresh(key: string, answer: HttpAnswer, known?: KnownAnswer): HttpAnswer;
}

export interface KnownAnswer {
  etag: string;
  answer: HttpAnswer;
}

/** Holds the latest `mostAnswers` answers of at most `mostCharacters` each; larger ones are not held. */
export function createAnswerCache({ mostAnswers = 50, mostCharacters = 100_000 } = {}): AnswerCache {
  const kept = new Map<string, KnownAnswer>();

  function fresh(key: string, answer: HttpAnswer, known?: KnownAnswer): HttpAnswer {
    if (answer.status === 304 && known) return confirmed(known.answer, answer);
    kept.delete(key);
    const { etag } = answer.headers;
    const isWorthKeeping =
      etag && answer.status >= 200 && answer.status < 300 && answer.body.length <= mostCharacters;
    if (isWorthKeeping) kept.set(key, { etag, answer });
    const [oldest] = kept.keys();
    if (kept.size > mostAnswers && oldest !== undefined) kept.delete(oldest);
    return answer;
  }

  return { known: (key) => kept.get(key), fresh };
}

/** The body is the known one; the headers of the 304 count, as the last page of a list may now have a next one. */
function confirmed(known: HttpAnswer, { headers }: HttpAnswer): HttpAnswer {
  return { ...known, headers: { ...known.headers, ...headers } };
}
