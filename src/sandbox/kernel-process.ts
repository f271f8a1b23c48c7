/** What the system knows of processes: which one an id names, who descends from it, and how it is ended. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Clock } from '../core/ports.ts';
import { isErrno } from '../lib/errno.ts';

const isLinux = process.platform === 'linux';

/**
 * What tells this process from every other one that ever has its id: on Linux the boot of the kernel, the
 * namespace that the id counts in, and the tick it started at. Undefined = there is no such process.
 */
export async function startOf(pid: number): Promise<string | undefined> {
  if (!isLinux) return await startByPs(pid);
  const ticks = (await statOf(pid))?.started;
  if (ticks === undefined) return undefined;
  const [boot, namespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readlink('/proc/self/ns/pid'),
  ]);
  return `${boot.trim()}/${namespace}/${ticks}`;
}

/** The ids of all that descend from a process, parents first. Empty where the system has no `/proc`. */
export async function descendantsOf(pid: number): Promise<readonly number[]> {
  if (!isLinux) return [];
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(ids.map(async (id) => ({ id, parent: (await statOf(id))?.parent })));
  const children = Map.groupBy(stats, ({ parent }) => parent);
  const found = new Set<number>();
  const add = (parent: number): void => {
    for (const { id } of children.get(parent) ?? []) found.add(id);
  };
  add(pid);
  // A set is walked to what was added meanwhile.
  for (const next of found) add(next);
  return [...found];
}

/** Every program has the id of its row under this name in its environment, and what it starts inherits it. */
export const PROCESS_MARK = 'GATEHOUSE_PROCESS';

/**
 * The ids of all processes that were started with this mark. Empty where the system has no `/proc`. Reads at
 * once, 8 ms of 500 processes: the thread pool takes three times as long for so many small files.
 */
export function markedWith(id: string): readonly number[] {
  if (!isLinux) return [];
  const mark = `${PROCESS_MARK}=${id}`;
  const isMarked = (pid: number): boolean => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark);
    } catch {
      return false; // it is gone, or another person's, and not ours to end
    }
  };
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return ids.map(Number).filter(isMarked);
}

/** How often it looks again: a process may start another one between the look and its end. */
const LOOKS = 5;
/** For what was killed to leave the system. ms. */
const LOOK_EVERY_MS = 10;

/** Kills all processes started with this mark, also those that left the group and lost their parent. */
export async function killMarked(id: string, clock: Clock): Promise<void> {
  for (let look = 0; look < LOOKS; look += 1) {
    const found = markedWith(id);
    if (found.length === 0) return;
    for (const pid of found) signalTo(pid, 'SIGKILL');
    await clock.sleep(LOOK_EVERY_MS);
  }
}

/** A negative id names the whole group. What is gone already is not an error. */
export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // On macOS a group of zombies answers EPERM.
    if (!isErrno(error, 'ESRCH', 'EPERM')) throw error;
  }
}

async function statOf(pid: number): Promise<{ readonly parent: number; readonly started: string } | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in brackets and may hold anything, also brackets and blanks.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // A zombie runs no more: only its parent has to take note.
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return { parent: Number(fields[1]), started: fields[19] ?? '' };
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESRCH', 'EACCES')) return undefined;
    throw error;
  }
}

async function startByPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], {
      env: { LC_ALL: 'C', TZ: 'UTC' },
    });
    return stdout.trim() === '' ? undefined : `ps/${stdout.trim()}`;
  } catch {
    return undefined; // ps ends with 1 where there is no such process
  }
}
