/** A run with five tools that really change something, and what is found of their effects at the end. */
import { execFileSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOf } from '../../sandbox/kernel-process.ts';
import { NO_REAP } from './controls.ts';

/**
 * A request for which the model calls `write_file`, `shell`, `cron` and `count` at once, and then
 * `edit_file`.
 */
export const HANDS_QUESTION = 'hands 1';
/** The same where `shell` needs a yes: the model calls it alone, once the others are done. */
export const ALLOWED_QUESTION = 'allowed 1';

export interface Hands {
  readonly mode: 'full' | 'guarded';
  /**
   * Of an undisturbed run, as `effectsIn` and the counting tool tell them: a file that was not written is
   * not edited.
   */
  readonly effects: number;
}

const HANDS: Readonly<Record<string, Hands>> = {
  [HANDS_QUESTION]: { mode: 'full', effects: 4 },
  // One more: the use of the yes.
  [ALLOWED_QUESTION]: { mode: 'guarded', effects: 5 },
};

/** For `RunSpec`. */
export function handsOf(questions: readonly string[]): { readonly hands?: Hands } {
  const hands = HANDS[questions.find((question) => HANDS[question]) ?? ''];
  return hands ? { hands } : {};
}

/** Who writes, where they own the gateway, by type of channel: others have no programs and no jobs. */
const OWNERS: Readonly<Record<string, { readonly chat_id: string; readonly sender_ids: readonly string[] }>> = {
  telegram: { chat_id: '1001', sender_ids: ['1001'] },
  slack: { chat_id: 'D0P0', sender_ids: ['U0P0'] },
  email: { chat_id: 'alice@example.test', sender_ids: ['alice@example.test'] },
  double: { chat_id: 'owner', sender_ids: ['person-0'] },
};

/** Of the section `gateway`. */
export function handsConfig(channel: string): Readonly<Record<string, unknown>> {
  const owner = OWNERS[channel];
  if (!owner) throw new Error(`no owner is known for ${channel}`);
  return { owner: [{ channel, ...owner }] };
}

/** Other sections. With a sandbox, its guardian would do what the known-bad design leaves out. */
export function handsSections({ mode }: Hands, variant: string): Readonly<Record<string, unknown>> {
  return { sandbox: variant === NO_REAP ? { mode: 'none' } : {}, tool_policy: { mode } };
}

/** Throws where programs have no sandbox: their effects would be missing, after an hour of other rows. */
export function checkSandbox(): void {
  try {
    execFileSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true'], { stdio: 'pipe' });
  } catch (cause) {
    throw new Error('the scenario `hands` needs bubblewrap: apt-get install bubblewrap ripgrep', { cause });
  }
}

type Call = readonly [name: string, args: Readonly<Record<string, unknown>>];

const write: Call = ['write_file', { path: 'note', content: 'one\n' }];
const edit: Call = ['edit_file', { path: 'note', old_string: 'one', new_string: 'one two' }];
/**
 * Leaves something running that must not stay. Without a sandbox, as in the known-bad design, it takes
 * longer, so that a kill meets it soon.
 */
const shell = (n: string): Call => [
  'shell',
  { command: `echo "shell ${n}" >> marks; sleep 4711 & [ -d /workspace ] && sleep 0.03 || sleep 0.5` },
];
const cron = (n: string): Call => ['cron', { action: 'add', name: `job ${n}`, message: 'later', in_seconds: 86_400 }];
const count = (n: string): Call => ['count', { n: Number(n) }];

/** What the model asks for, by how many results came before. */
export function handsCalls(kind: string, n: string, results: number): readonly Call[] {
  if (results > 4) return [];
  if (results === 4) return [edit];
  if (kind === 'hands') return [write, shell(n), cron(n), count(n)];
  return results === 3 ? [shell(n)] : [write, cron(n), count(n)];
}

/**
 * Every effect, and every use of a yes, as often as it is found; as `toolRuns` has those of the counting
 * tool.
 */
export async function effectsIn(dataDir: string): Promise<readonly string[]> {
  const effects: string[] = [];
  for await (const path of glob('workspaces/*/*/{marks,note}', { cwd: dataDir })) {
    const text = await readFile(join(dataDir, path), 'utf8');
    // An edit that ran twice left its words twice.
    effects.push(...(path.endsWith('note') ? (text.match(/two/g) ?? []) : text.split('\n').filter(Boolean)));
  }
  using db = new DatabaseSync(join(dataDir, 'journal.db'), { readOnly: true });
  effects.push(
    ...db
      .prepare('SELECT name FROM job')
      .all()
      .map(({ name }) => String(name)),
    ...db
      .prepare('SELECT approved_by AS id FROM step WHERE approved_by IS NOT NULL')
      .all()
      .map(({ id }) => `the yes ${String(id)}`),
  );
  return effects;
}

/**
 * Processes whose arguments name this directory, as those of a sandbox, or that work below it:
 * `pid parent state seconds arguments`, a line each.
 */
export function leftRunning(dir: string): readonly string[] {
  const all = execFileSync('ps', ['-eo', 'pid,ppid,stat,etimes,args'], { encoding: 'utf8' });
  return all.split('\n').filter((line) => line.includes(dir) || placeOf(idIn(line)).startsWith(dir));
}

const idIn = (line: string): number => Number.parseInt(line, 10);

function placeOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ''; // it is gone by now
  }
}

/** What runs, by the moment it began: an id alone may be another one's later. */
export async function startsIn(dir: string): Promise<ReadonlyMap<string, string>> {
  const lines = leftRunning(dir);
  return new Map(await Promise.all(lines.map(async (line) => [`${idIn(line)} ${await startOf(idIn(line))}`, line] as const)));
}

const SECOND = 1_000;

/** What ran before a start, and a second after that is ready runs still. */
export async function outlived(
  dir: string,
  before: ReadonlyMap<string, string>,
  ready: () => Promise<boolean>,
): Promise<readonly string[]> {
  if (before.size === 0 || !(await ready())) return [];
  await sleep(SECOND);
  return [...(await startsIn(dir))].flatMap(([start, line]) => (before.has(start) ? [`of before: ${line.trim()}`] : []));
}

/** What is still there a second after all is over. It is ended here, so that it is not there for ever. */
export async function leftAfterASecond(dir: string): Promise<readonly string[]> {
  const end = performance.now() + SECOND;
  while (leftRunning(dir).length > 0 && performance.now() < end) await sleep(50);
  const left = leftRunning(dir);
  for (const line of left) {
    try {
      process.kill(idIn(line), 'SIGKILL');
    } catch {
      // It has just ended by itself.
    }
  }
  return left;
}
