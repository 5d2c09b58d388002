// Bundles the page's script and style, with the libraries they use, into the Python package.
import { build } from "esbuild";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../src/flexarm/viewer/built");

await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { viewer: "src/main.js" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome100", "firefox100", "safari15"],
  legalComments: "eof",
  charset: "ascii",
  logLevel: "warning",
});
await copyFile(join(here, "src/page.html"), join(out, "page.html"));

// The script stands inside an element of the page: these would end it, or change how it is read.
for (const name of ["viewer.js", "viewer.css"]) {
  const text = await readFile(join(out, name), "utf8");
  if (/<!--|<\/(script|style)/i.test(text)) throw new Error(`${name} cannot stand in a page`);
}
