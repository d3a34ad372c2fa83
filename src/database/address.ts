/** The same address with another query; what stands before it stays as it was written. */
export function withQuery(url: string, edit: (query: URLSearchParams) => void): string {
  const [before = "", ...rest] = url.split("?");
  const query = new URLSearchParams(rest.join("?"));
  edit(query);
  return query.size > 0 ? `${before}?${query.toString()}` : before;
}
