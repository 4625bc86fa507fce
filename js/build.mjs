// Bundles one script and one style sheet per widget. `node build.mjs OUTDIR` writes them elsewhere, for comparison.
import { build } from 'esbuild';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const outdir = resolve(process.argv[2] ?? resolve(here, '../dvergr_nb/widgets/static'));
const widgets = ['run_card', 'run_board', 'room_view'];

await build({
  absWorkingDir: here,
  entryPoints: widgets.flatMap((name) => [
    { in: `src/${name}/widget.js`, out: name },
    { in: `src/${name}/style.css`, out: name },
  ]),
  outdir,
  bundle: true,
  format: 'esm',
  target: 'esnext',
  charset: 'utf8',
  minify: false,
  legalComments: 'none',
  logLevel: 'warning',
});
