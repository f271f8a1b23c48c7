import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';

it('a daemon whose starter was killed ends with the reader of its log, instead of logging that it cannot log', async () => {
  const parts = new URL('./fault-parts.ts', import.meta.url).href;
  const program = `
    const { endWithReader } = await import(${JSON.stringify(parts)});
    process.on('uncaughtException', (error) => process.stderr.write(error.message + '\\n'));
    endWithReader();
    process.stderr.write('begun\\n');
    setInterval(() => process.stderr.write('a line\\n'), 5);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  await once(child.stderr, 'data');
  child.stderr.destroy();
  expect(await ended).toEqual([1, null]);
});
