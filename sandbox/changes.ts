/** Tells whoever looks on that something has happened: a call has ended, or a memory has changed. */
export interface Changes {
  tell(): void;
  /** Answers a function that ends it. */
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
