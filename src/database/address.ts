/** The same address with another query; the part in front of the query means the same to the driver as before. */
export function withQuery(url: string, edit: (query: URLSearchParams) => void): string {
  // The driver escapes an address that contains a blank or a lone %. It would escape what is added here once more, so
  // the address is escaped here, as the driver does it.
  const isEscapedLater = / |%[^a-f0-9]|%[a-f0-9][^a-f0-9]/i.test(url);
  const read = isEscapedLater ? encodeURI(url).replace(/%25(\d\d)/g, "%$1") : url;
  const [before = "", ...rest] = read.split("?");
  const query = new URLSearchParams(rest.join("?"));
  edit(query);
  return query.size > 0 ? `${before}?${query.toString()}` : before;
}
