const IS_MISSING = !("navigator" in globalThis);

if (IS_MISSING) {
  const userAgent = `Node.js/${process.versions.node.split(".")[0]}`;
  Object.defineProperty(globalThis, "navigator", { value: { userAgent }, configurable: true });
}

/** Removes `navigator` again if this module has made it: some libraries take a runtime that has one for a browser. */
export function forgetNavigator(): void {
  if (IS_MISSING) Reflect.deleteProperty(globalThis, "navigator");
}
