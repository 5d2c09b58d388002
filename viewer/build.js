// Bundles the page's script and style, with the libraries they use, into the Python package.
import { build } from "esbuild";
import { appendFile, copyFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../src/flexarm/viewer/built");

// Their licences ask that copies of the libraries carry them, and every page is a copy.
const licences = await Promise.all(
  ["three", "uplot"].map(async (name) => {
    const text = await readFile(join(here, "node_modules", name, "LICENSE"), "utf8");
    return `/*\n${name}:\n${text.trim()}\n*/`;
  }),
);

await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { viewer: "src/main.js", unpack: "src/unpack.js" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome100", "firefox113", "safari16.4"], // docs/viewer.md and unpack.js name them
  legalComments: "none",
  charset: "ascii",
  logLevel: "warning",
});
await appendFile(join(out, "unpack.js"), `${licences.join("\n")}\n`);
await copyFile(join(here, "src/page.html"), join(out, "page.html"));

// The script stands inside an element of the page: these would end it, or change how it is read.
for (const name of ["unpack.js", "viewer.css"]) {
  const text = await readFile(join(out, name), "utf8");
  if (/<!--|<\/(script|style)/i.test(text)) throw new Error(`${name} cannot stand in a page`);
}
