import { createAnswerCache } from "../../src/platform/answer-cache.ts";

const answer = (body: string, etag?: string, status = 200) => ({
  status,
  headers: etag ? { etag } : {},
  body,
});

describe("the answer cache of a client", () => {
  it("keeps the latest few answers", () => {
    const cache = createAnswerCache({ mostAnswers: 2 });
    for (const key of ["1", "2", "1", "3"]) cache.fresh(key, answer("x", `"${key}"`));
    expect(["1", "2", "3"].map((key) => cache.known(key)?.etag)).toEqual(['"1"', undefined, '"3"']);
  });

  it("keeps no large answers, none without an ETag, and no errors", () => {
    const cache = createAnswerCache({ mostCharacters: 3 });
    cache.fresh("large", answer("1234", '"a"'));
    cache.fresh("unnamed", answer("1"));
    cache.fresh("refused", answer("1", '"a"', 404));
    expect(["large", "unnamed", "refused"].map(cache.known)).toEqual([undefined, undefined, undefined]);
  });

  it("replaces older answers, and removes them when the newer one may not be kept", () => {
    const cache = createAnswerCache();
    cache.fresh("k", answer("old", '"a"'));
    cache.fresh("k", answer("new", '"b"'));
    expect(cache.fresh("k", answer("", undefined, 304), cache.known("k")).body).toBe("new");
    cache.fresh("k", answer("newest"));
    expect(cache.known("k")).toBeUndefined();
  });

  it("uses the headers of a 304, because a last page may have a next one by then", () => {
    const cache = createAnswerCache();
    cache.fresh("k", answer("page", '"a"'));
    const news = { status: 304, headers: { "next-range": "id ]1.." }, body: "" };
    const confirmed = cache.fresh("k", news, cache.known("k"));
    expect(confirmed).toEqual({
      status: 200,
      headers: { etag: '"a"', "next-range": "id ]1.." },
      body: "page",
    });
  });
});
