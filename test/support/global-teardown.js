/** Runs after the last test: what global-setup.js has started ends. */
export default async function tearDown() {
  await globalThis.tearDown();
}
