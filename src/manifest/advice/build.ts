import type { Rule } from "./rule.ts";

export const image: Rule = ({ image }) =>
  image === undefined ? [] : [{ path: ["image"], message: "This is deprecated: leave it out." }];

export const buildpacks: Rule = ({ buildpacks = [] }) =>
  buildpacks.length === 0
    ? []
    : [
        {
          path: ["buildpacks"],
          message: "Only apps of the older generation take these; newer ones name theirs in project.toml.",
          isSaidOnce: true,
        },
      ];
