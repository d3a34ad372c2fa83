/** Called while long work makes progress. `total` may grow meanwhile. */
export type OnProgress = (done: number, total: number) => void;
