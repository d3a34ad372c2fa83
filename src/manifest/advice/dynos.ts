import type { Rule } from "./rule.ts";

export const billedProcesses: Rule = ({ formation = {} }) =>
  Object.values(formation).some(({ quantity }) => quantity !== 0)
    ? [{ path: ["formation"], message: "The dynos of these processes are billed.", isSaidOnce: true }]
    : [];

export const sizes: Rule = ({ formation = {} }) => {
  const processes = Object.values(formation);
  return processes.length > 1 && processes.some(({ size }) => size === undefined)
    ? [{ path: ["formation"], message: "With several process types it is better to give each its size." }]
    : [];
};
