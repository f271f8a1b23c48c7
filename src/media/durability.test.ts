import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { copyAttachment } from './attachments.ts';

/**
 * The calls of a program that touch files of `dir`, shortest form, oldest first; ACK where it says so itself.
 */
async function fileCalls(dir: string, program: string): Promise<readonly string[]> {
  const trace = join(dir, 'trace');
  const calls = 'trace=write,writev,pwrite64,rename,renameat,renameat2,fsync,fdatasync';
  const child = spawn('strace', ['-f', '-y', '-o', trace, '-e', calls, process.execPath, '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  expect(await text(child.stdout)).toBe('ACK\n');
  return (await readFile(trace, 'utf8')).split('\n').flatMap((line) => {
    if (/ write\(1<[^>]*>, "ACK/.test(line)) return ['ACK'];
    const [, call = '', path = ''] = / (p?write(?:v|64)?|f(?:data)?sync)\(\d+<([^>]*)>/.exec(line) ?? [];
    if (path.startsWith(dir)) return [`${call.replace(/^.*write.*$/, 'write')} ${path.slice(dir.length + 1)}`];
    return / rename(?:at2?)?\(/.test(line) && /\.part"/.test(line) ? ['rename'] : [];
  });
}

it('F11 a fetched file, its name and its folder are on disk before the turn goes on', async (context) => {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  await using dir = await tempDir();
  const workspace = join(dir.path, 'workspace');
  await mkdir(workspace);
  const calls = await fileCalls(
    dir.path,
    `const { fetchFile } = await import('${new URL('./fetch-file.ts', import.meta.url).href}');
     const { writeSync } = await import('node:fs');
     const bytes = (async function* () { yield Buffer.from('some '); yield Buffer.from('notes'); })();
     const channel = { limits: { downloadBytes: 100 }, download: async () => ({ bytes }) };
     const signal = new AbortController().signal;
     const options = { channel: async () => channel, workspace: ${JSON.stringify(workspace)}, signal };
     await fetchFile({ id: 'm', channel: 'test' }, { kind: 'document', ref: 'f', name: 'a.txt' }, 0, options);
     writeSync(1, 'ACK\\n');`,
  );
  const [stored = ''] = await readdir(join(workspace, 'uploads'));
  const part = `workspace/uploads/${stored.replace('.txt', '.part')}`;
  expect(calls).toEqual([
    'fsync workspace',
    `write ${part}`,
    `write ${part}`,
    `fsync ${part}`,
    'rename',
    'fsync workspace/uploads',
    'ACK',
  ]);
});

it('F11 the copy of a file that an answer carries is on disk before the answer names it', async (context) => {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'report.pdf'), 'x'.repeat(10_000));
  const outgoing = join(dir.path, 'outgoing');
  const calls = await fileCalls(
    dir.path,
    `const { copyAttachment } = await import('${new URL('./attachments.ts', import.meta.url).href}');
     const { writeSync } = await import('node:fs');
     const file = { path: ${JSON.stringify(join(dir.path, 'report.pdf'))}, name: 'report.pdf' };
     await copyAttachment(${JSON.stringify(outgoing)}, file, 100_000);
     writeSync(1, 'ACK\\n');`,
  );
  const [copy = ''] = await readdir(outgoing);
  expect(calls.filter((call) => !call.startsWith('write'))).toEqual([
    'fsync ',
    `fsync outgoing/${copy}`,
    'fsync outgoing',
    'ACK',
  ]);
});

it('a copy that is not what was measured, or is not whole, is not left behind', async () => {
  await using dir = await tempDir();
  const outgoing = join(dir.path, 'outgoing');
  await mkdir(join(dir.path, 'folder'));
  await expect(copyAttachment(outgoing, { path: join(dir.path, 'folder'), name: 'folder' }, 1e6)).rejects.toThrow();
  await writeFile(join(dir.path, 'large'), 'x'.repeat(11));
  await expect(copyAttachment(outgoing, { path: join(dir.path, 'large'), name: 'large' }, 10)).rejects.toMatchObject({
    code: 'GH1504',
  });
  expect(await readdir(outgoing).catch(() => [])).toEqual([]);
});
