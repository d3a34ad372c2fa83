import { build, transform } from "esbuild";

// Compiles TypeScript by stripping the types, which `npm run types` checks.

const HOW = { format: "esm", target: "node20", jsx: "automatic", jsxImportSource: "preact" };

/** Jest's transformer. */
export default {
  async processAsync(source, file) {
    const loader = file.endsWith("x") ? "tsx" : "ts";
    const { code } = await transform(source, { ...HOW, loader, sourcefile: file, sourcemap: "inline" });
    return { code };
  },
};

/** Compiles files, each to its `out` (without an ending) in a folder; their imports then name compiled files. */
export async function compileInto(outdir, files) {
  const asCompiled = {
    name: "as compiled",
    setup({ onResolve }) {
      onResolve({ filter: /./ }, ({ path, kind }) =>
        kind === "entry-point" ? null : { path: path.replace(/^(\..*)\.tsx?$/, "$1.js"), external: true },
      );
    },
  };
  const how = { ...HOW, bundle: true, platform: "node", treeShaking: false, logLevel: "warning" };
  await build({ ...how, entryPoints: files, outdir, plugins: [asCompiled] });
}
