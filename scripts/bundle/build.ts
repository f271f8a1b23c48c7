// npm run build: the program in dist/, for the package and the image. `npm run typecheck` checks its types.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './bundle.ts';
import { buildProgram } from './program.ts';

const dir = join(ROOT, 'dist');
await rm(dir, { recursive: true, force: true });
await buildProgram(dir);
