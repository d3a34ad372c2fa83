import type { Rule } from "./rule.ts";

export const website: Rule = ({ website }) =>
  website === undefined || isWebAddress(website)
    ? []
    : [{ path: ["website"], message: "This is no web address: it would begin with https://" }];

export const repository: Rule = ({ repository }) =>
  repository === undefined || isRepository(repository)
    ? []
    : [
        {
          path: ["repository"],
          message: "This is no address of a repository: it would begin with https:// or git@",
        },
      ];

export const logo: Rule = ({ logo }) => {
  if (logo === undefined) return [];
  if (!isWebAddress(logo))
    return [{ path: ["logo"], message: "This is no web address: a logo is fetched from one." }];
  return OTHER_FORMATS.test(new URL(logo).pathname)
    ? [{ path: ["logo"], message: "A logo is a square SVG, PNG or JPG." }]
    : [];
};

export const successUrl: Rule = ({ success_url: url }) =>
  url === undefined || url.startsWith("/") || /^[a-z][a-z0-9+.-]*:\/\/\S/i.test(url)
    ? []
    : [
        {
          path: ["success_url"],
          message:
            "Nobody is sent there: give a full URL, or a path of the new app that begins with /, or leave it out.",
        },
      ];

/** File extensions of other formats; an address without an extension may be of any format. */
const OTHER_FORMATS = /\.(gif|webp|avif|ico|bmp|tiff?|heic|pdf)$/i;

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Accepts any URL, and git's form without a scheme: user@host:path. */
function isRepository(text: string): boolean {
  return /^[\w.+-]+@[\w.-]+:\S+$/.test(text) || (URL.canParse(text) && text.includes("://"));
}
