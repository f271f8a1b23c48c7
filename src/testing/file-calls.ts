import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { needs } from './needs.ts';

/**
 * Runs a program and tells what it asked of the disk, in order: `write PATH`, `rename PATH` (the new name),
 * `sync PATH` once that has succeeded, and `DONE …` for each line of this kind that it wrote to descriptor 1.
 * A kill loses nothing that the kernel holds, so only the order of these calls shows what a power loss would
 * leave. `dir` is where the trace may lie, and no symbolic link.
 */
export async function fileCalls(context: TestContext, dir: string, program: string): Promise<readonly string[]> {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  const trace = join(dir, 'trace');
  const traced = ['-f', '-y', '-o', trace, '-e', 'trace=write,pwrite64,fsync,fdatasync,rename,renameat,renameat2'];
  const node = [process.execPath, '--input-type=module', '-e', program];
  const running = spawn('strace', [...traced, ...node], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(running, 'exit');
  if (code !== 0) throw new Error(`the traced program ended with ${code}`);
  const syncing = new Map<string, string>(); // by thread: a call is in two halves when other threads were seen meanwhile
  return (await readFile(trace, 'utf8')).split('\n').flatMap((line) => {
    const [thread = ''] = line.split(' ', 1);
    const call = line.slice(thread.length).trim();
    const [, renamed] = /^rename\w*\(.*"([^"]+)"/.exec(call) ?? [];
    if (renamed) return [`rename ${renamed}`];
    const [, name, path, mark] = /^(\w+)\(\d+<([^>]*)>(?:, "(DONE \w+))?/.exec(call) ?? [];
    if (mark) return [mark];
    if (name?.endsWith('sync')) syncing.set(thread, `sync ${path}`);
    else if (name) return [`write ${path}`];
    const synced = syncing.get(thread);
    if (!synced || !call.endsWith('= 0')) return [];
    syncing.delete(thread);
    return [synced];
  });
}
