/** Notifies watchers that something has happened: a call has ended, or the state has changed. */
export interface Changes {
  tell(): void;
  /** Returns a function that ends the watch. */
  watch(listener: () => void): () => void;
}

export function createChanges(): Changes {
  const listeners = new Set<() => void>();
  return {
    tell() {
      for (const listener of listeners) listener();
    },
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
