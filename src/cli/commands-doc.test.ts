import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-info.ts';
import { renderCommandsDoc } from './commands-doc.ts';

test('docs/commands.md is the table of commands (npm run generate)', async () => {
  expect(await readFile(join(packageRoot(), 'docs', 'commands.md'), 'utf8')).toBe(renderCommandsDoc());
});
