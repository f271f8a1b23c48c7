import { errorText, isGatehouseError } from '../../core/errors.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import { type Command, type CommandContext, dataDirOf, readConfig } from '../context.ts';
import { askDaemon, type DaemonStatus } from '../daemon-status.ts';
import type { Check, CheckState, Diagnosis, Scene } from '../doctor/check.ts';
import { EXIT } from '../exit-codes.ts';
import type { Mark } from '../output.ts';
import { withQuestions } from '../questions.ts';
import { PROVIDER_NAMES } from './config.ts';

export interface DoctorOptions {
  readonly fix?: boolean;
  readonly yes?: boolean;
  readonly offline?: boolean;
}

interface Line extends Diagnosis {
  readonly id: string;
}

const MARKS: Readonly<Record<CheckState, Mark>> = { ok: 'ok', warn: 'warn', bad: 'bad', skip: 'none' };

/**
 * Looks at everything that keeps a daemon from its work, a line each, and mends with `fix` what it can. Exit
 * code 0 where nothing is bad, 1 where something is, 78 where the config cannot be used.
 */
export const doctor: Command<DoctorOptions> = async (context, options) => {
  const { out } = context;
  const { CHECKS } = await import('../doctor/index.ts');
  const scene = await look(context, options.offline === true);
  let lines = await diagnose(CHECKS, scene);
  if (options.fix === true) {
    if (await heal(lines, context, options)) lines = await diagnose(CHECKS, await look(context, options.offline === true));
  }
  out.screen(lines.map((line) => formatLine(line, context)).join('\n'), 17);
  const found = lines.filter(({ state }) => state === 'bad' || state === 'warn');
  const checks = lines.map(({ heal: mend, fix, ...line }) => ({ ...line, fix: fix ?? null, canFix: mend !== undefined }));
  if (!found.some(({ state }) => state === 'bad')) {
    const mendable = found.filter(({ heal: mend }) => mend).length;
    if (mendable > 0) out.say(`→ gatehouse doctor --fix mends ${mendable} of ${found.length}`);
    out.document({ checks });
    return EXIT.ok;
  }
  const [first] = found.filter(({ state }) => state === 'bad');
  const failure = { code: 'GH1009', message: `${counted(found.length, 'trouble')} found`, hint: first?.fix ?? '' };
  out.fail({ ...failure, hint: found.some(({ heal: mend }) => mend) ? 'gatehouse doctor --fix' : failure.hint }, { checks });
  return scene.problem ? EXIT.config : EXIT.failed;
};

/** The check `data-dir` tells why. */
function unasked(error: unknown): DaemonStatus {
  return { kind: 'down', detail: errorText(error) };
}

async function look(context: CommandContext, isOffline: boolean): Promise<Scene> {
  const dataDir = dataDirOf(context);
  const common = { context, dataDir, daemon: await askDaemon(dataDir).catch(unasked), isOffline };
  try {
    return { ...common, loaded: await readConfig(context, { providers: PROVIDER_NAMES }) };
  } catch (error) {
    if (!isGatehouseError(error)) throw error;
    return { ...common, problem: error };
  }
}

/** All at once: those that wait for a network wait together. */
async function diagnose(checks: readonly Check[], scene: Scene): Promise<readonly Line[]> {
  const { broke } = await import('../doctor/live.ts');
  return await Promise.all(
    checks.map(async (check) => ({ id: check.id, ...(await check.run(scene).catch((error: unknown) => broke(error))) })),
  );
}

function formatLine({ id, state, what, fix }: Line, { out }: CommandContext): string {
  const text = `${out.mark(MARKS[state])} ${id.padEnd(13)} ${printable(what)}`;
  return fix === undefined ? text : `${text}   → ${printable(fix)}`;
}

/** Whether anything was changed. Each change is asked for, but with `yes`. */
async function heal(lines: readonly Line[], { deps, out }: CommandContext, { yes = false }: DoctorOptions): Promise<boolean> {
  const mendable = lines.filter(({ heal: mend }) => mend);
  if (mendable.length === 0) return false;
  const asks = deps.stdio.stdin.isTTY === true && !out.json;
  if (!yes && !asks) {
    out.say(`${out.mark('warn', 'stderr')} nothing was changed: without a terminal --fix needs --yes`);
    return false;
  }
  let changed = false;
  for (const { what, heal: mend } of mendable) {
    const answer = yes ? 'y' : await withQuestions(deps.stdio, (question) => question(`${printable(what)}. Mend it? [y/N] `));
    if (!mend || !/^y(es)?$/i.test(answer)) continue;
    try {
      out.say(`${out.mark('ok', 'stderr')} ${printable(await mend())}`);
      changed = true;
    } catch (error) {
      out.say(`${out.mark('bad', 'stderr')} could not be mended: ${printable(errorText(error))}`);
    }
  }
  return changed;
}

/**
 * The dangers of the config alone, each with its place. Exit code 1 where there is one, 78 where it stops the
 * start.
 */
export const doctorSecurity: Command<unknown> = async (context) => {
  const { configCheck } = await import('./config.ts');
  return await configCheck(context, { only: 'security' });
};
