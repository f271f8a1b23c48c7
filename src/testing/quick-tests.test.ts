import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-info.ts';
import { tempDir } from './fakes.ts';
import { quickTests } from './quick-tests.ts';

async function sorted(test: string, helpers: Record<string, string> = {}): Promise<boolean> {
  await using dir = await tempDir();
  for (const [file, text] of Object.entries({ ...helpers, 'src/a/a.test.ts': test })) {
    await mkdir(dirname(join(dir.path, file)), { recursive: true });
    await writeFile(join(dir.path, file), text);
  }
  return quickTests(dir.path).includes('src/a/a.test.ts');
}

const server = { 'src/testing/server.ts': `import { createServer } from 'node:http';\n` };
const program = { 'src/a/b.ts': `import { c } from './c.ts';\n`, 'src/a/c.ts': `import { spawn } from 'node:child_process';\n` };

test.each<[title: string, isQuick: boolean, test: string, helpers?: Record<string, string>]>([
  ['a test of a function is quick', true, `import { a } from './a.ts';\n`, { 'src/a/a.ts': '' }],
  [
    'a test that starts a process is not',
    false,
    `import { once } from 'node:events';\nimport { spawn } from 'node:child_process';\n`,
  ],
  ['nor one that has Node started', false, `import { b } from './b.ts';\nb({ command: process.execPath });\n`, program],
  ['nor one that loads what listens later', false, `const { createServer } = await import('node:net');\n`],
  ['nor one of what starts processes', false, `import {\n  c,\n} from './c.ts';\n`, program],
  ['one of what uses that is quick', true, `import { b } from './b.ts';\n`, program],
  ['a test with a server of src/testing is not', false, `import { start } from '../testing/server.ts';\n`, server],
  [
    'nor one that reaches it by a contract and another helper',
    false,
    `import { contract } from './contract.ts';\n`,
    {
      ...server,
      'src/a/contract.ts': `import '../testing/scene.ts';\n`,
      'src/testing/scene.ts': `const one = async () => await import('./server.ts');\n`,
    },
  ],
  ['the type of a server is none', true, `import type { Server } from '../testing/server.ts';\n`, server],
  ['what is loaded by a name made at run time may be anything', false, `await import(\`./\${name}.ts\`);\n`],
])('%s', async (_title, isQuick, text, helpers) => {
  expect(await sorted(text, helpers)).toBe(isQuick);
});

test('of our own tests those of the rules are quick; those with a daemon, a peer or a login are not', () => {
  const quick = new Set(quickTests(packageRoot()));
  for (const file of ['src/delivery/split.test.ts', 'src/journal/journal.test.ts', 'channels/email/in/inbound.test.ts'])
    expect([file, quick.has(file)]).toEqual([file, true]);
  for (const file of [
    'src/app/kill.e2e.test.ts',
    'src/lib/auth/store.processes.test.ts',
    'src/llm/protocols/wire-matrix.test.ts',
    'channels/email/email.test.ts',
    'channels/irc/contract.test.ts',
    'channels/capabilities.test.ts',
    'src/tools/mcp/hostile.test.ts',
  ])
    expect([file, quick.has(file)]).toEqual([file, false]);
});
