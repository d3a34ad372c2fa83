/** Called as long work goes on. `total` may grow while it runs. */
export type OnProgress = (done: number, total: number) => void;
