/** A run with five tools that really change something, and what is found of their effects when all is over. */
import { execFileSync } from 'node:child_process';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** A request for which the model calls `write_file`, `shell`, `cron` and `count` at once, and then `edit_file`. */
export const HANDS_QUESTION = 'hands 1';
/** Of an undisturbed run, as `effectsIn` and the counting tool tell them: a file that was not written is not edited. */
export const HANDS_EFFECTS = 4;

/** For `RunSpec`. */
export function handsOf(questions: readonly string[]): { readonly hands?: true } {
  return questions.includes(HANDS_QUESTION) ? { hands: true } : {};
}

/** Who writes, where they own the gateway: others have no programs and no jobs. By the type of the channel. */
const OWNERS: Readonly<Record<string, { readonly chat_id: string; readonly sender_ids: readonly string[] }>> = {
  telegram: { chat_id: '1001', sender_ids: ['1001'] },
  slack: { chat_id: 'D0P0', sender_ids: ['U0P0'] },
  email: { chat_id: 'alice@example.test', sender_ids: ['alice@example.test'] },
  double: { chat_id: 'owner', sender_ids: ['person-0'] },
};

/** Sections of the config. */
export function handsConfig(channel: string): Readonly<Record<string, unknown>> {
  const owner = OWNERS[channel];
  if (!owner) throw new Error(`no owner is known for ${channel}`);
  return { owner: [{ channel, ...owner }] };
}

export const HANDS_SECTIONS = { sandbox: {}, tool_policy: { mode: 'full' } } as const;

type Call = readonly [name: string, args: Readonly<Record<string, unknown>>];

/** What the model asks for, by how many answers came before. The shell leaves something running that must not stay. */
export function handsCalls(n: string, results: number): readonly Call[] {
  if (results > 4) return [];
  if (results === 4) return [['edit_file', { path: 'note', old_string: 'one', new_string: 'one two' }]];
  return [
    ['write_file', { path: 'note', content: 'one\n' }],
    ['shell', { command: `echo "shell ${n}" >> marks; sleep 4711 & sleep 0.03` }],
    ['cron', { action: 'add', name: `job ${n}`, message: 'later', in_seconds: 86_400 }],
    ['count', { n: Number(n) }],
  ];
}

/** Every effect as often as it is found, as `toolRuns` has those of the counting tool. */
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
  );
  return effects;
}

/** Processes whose arguments name this directory: `pid parent state arguments`, a line each. */
export function leftRunning(dir: string): readonly string[] {
  const all = execFileSync('ps', ['-eo', 'pid,ppid,stat,etimes,args'], { encoding: 'utf8' });
  return all.split('\n').filter((line) => line.includes(dir));
}
