/** The same address with another query; what stands before it stays as the driver reads it. */
export function withQuery(url: string, edit: (query: URLSearchParams) => void): string {
  // The driver escapes an address that holds a blank or a lone %, and would do so to what is added here.
  const isEscapedLater = / |%[^a-f0-9]|%[a-f0-9][^a-f0-9]/i.test(url);
  const read = isEscapedLater ? encodeURI(url).replace(/%25(\d\d)/g, "%$1") : url;
  const [before = "", ...rest] = read.split("?");
  const query = new URLSearchParams(rest.join("?"));
  edit(query);
  return query.size > 0 ? `${before}?${query.toString()}` : before;
}
