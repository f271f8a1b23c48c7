/** What docs/tasks.md shows of the demo is what the demo prints. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../lib/package-info.ts';
import { playTasksDemo } from './tasks.ts';

/** Process ids and codes differ from run to run. How far a sub-agent is at a moment does, too. */
function toShape(lines: readonly string[]): readonly string[] {
  return lines
    .filter((line) => !/^ +\d+ +(?:running|waiting_\w+|completed|queued|accepted)/.test(line))
    .filter((line) => !/^ +bot: \d of 3 sub-agents done/.test(line))
    .map((line) =>
      line
        .replace(/process \d+/g, 'process N')
        .replace(/\b(answer|deny) [A-Z0-9]{6}\b/g, '$1 CODE')
        .trimEnd(),
    )
    .filter((line) => line !== '');
}

test('the transcript in docs/tasks.md is that of the demo, up to ids and how far a sub-agent is', async () => {
  const said: string[] = [];
  expect(await playTasksDemo({ say: (line) => said.push(...line.split('\n')), path: process.env['PATH'] })).toBe(0);
  const page = readFileSync(join(packageRoot(), 'docs/tasks.md'), 'utf8');
  const shown = /gatehouse demo tasks[\s\S]*?```\n([\s\S]*?)```/.exec(page)?.[1]?.split('\n') ?? [];
  expect(toShape(shown).length).toBeGreaterThan(15);
  expect(toShape(said)).toEqual(toShape(shown));
});
