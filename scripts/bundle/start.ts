// npm start, and `npm run gatehouse -- COMMAND`: the program of this checkout from the kept bundle, or, where
// none can be made, from its sources, which takes twice as long to start.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { keepLonger, keptBundle } from './kept.ts';

const HOUR_MS = 60 * 60_000;

const main = await keptBundle().then(
  (directory) => {
    setInterval(() => void keepLonger(directory).catch(() => undefined), HOUR_MS).unref();
    return pathToFileURL(join(directory, 'main.mjs')).href;
  },
  () => import.meta.resolve('../../src/cli/main.ts'),
);
await import(main);
