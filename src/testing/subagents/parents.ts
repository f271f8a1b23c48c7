/** Parents of one to five sub-agents, killed at every commit, and what must be true of each in the end. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { laneKey, messageKey, partKey, reportKey, sessionKey } from '../../core/ids.ts';
import type { Journal } from '../../core/journal.ts';
import type { Model, ModelRequest } from '../../core/model.ts';
import type { Lanes } from '../../gateway/lanes.ts';
import { openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import { inbound } from '../fakes.ts';
import { scriptedModel } from '../scripted-model.ts';
import { live } from './crash-rig.ts';

export interface Plan {
  /** Of each child, in the order of the calls. `step`: it calls a tool first. */
  readonly children: readonly ('ok' | 'fail' | 'step')[];
  readonly hasBackground: boolean;
  /** The parent is cancelled once so many of its runs are there. Absent = it is not. */
  readonly cancelled: boolean;
  readonly inRounds: boolean;
}

/** A stream of plans, the same for a seed. */
export function planOf(random: () => number): Plan {
  const count = 1 + Math.floor(random() * 5);
  const allFail = random() < 0.15;
  const kind = (): Plan['children'][number] => {
    const drawn = random();
    return allFail || drawn < 0.2 ? 'fail' : drawn < 0.5 ? 'step' : 'ok';
  };
  return {
    children: Array.from({ length: count }, kind),
    // One answer begins at most five.
    hasBackground: count < 5 && random() < 0.4,
    cancelled: random() < 0.15,
    inRounds: random() < 0.5,
  };
}

/** Plays the plan undisturbed, then once for each of its commits, with a second death drawn after it. */
export async function playPlan(dir: string, name: string, plan: Plan, random: () => number): Promise<Tally> {
  const tally: Tally = { runs: 0, deaths: 0, faults: [] };
  const quiet = await play(dir, `${name}.0`, plan, [], tally);
  for (let at = 1; at < quiet; at += 1) {
    await play(dir, `${name}.${at}`, plan, [at, ...(random() < 0.3 ? [1 + Math.floor(random() * 8)] : [])], tally);
  }
  return tally;
}

export interface Tally {
  runs: number;
  deaths: number;
  readonly faults: string[];
}

/** Returns how many commits the last life made. */
async function play(dir: string, name: string, plan: Plan, deaths: readonly number[], tally: Tally): Promise<number> {
  const message = inbound({ channel: 'test', account: 'bot', chatId: `chat ${name}`, platformId: name, text: 'do it all' });
  const parent = messageKey(message);
  const calls: string[] = [];
  const model = modelOf(plan, calls);
  let isCancelled = false;
  const also = async (journal: Journal, lanes: Lanes): Promise<void> => {
    const admitted = { kind: 'admit', message, lane: laneKey(message), session: sessionKey(message) } as const;
    await journal.accept([admitted]);
    lanes.fetch([laneKey(message)]);
    if (!plan.cancelled || isCancelled) return;
    while ((await journal.counts()).inbox.PARKED === 0 && !lanes.isAtRest) await new Promise((resolve) => setTimeout(resolve, 1));
    isCancelled = await journal.commit([{ kind: 'cancel', run: parent }]);
    await lanes.abortCancelled();
  };
  const paid = new Set<string>();
  let commits = 0;
  for (const at of [...deaths, undefined]) {
    const from = calls.length;
    const { inRounds } = plan;
    const end = await live({ dir, model, also, inRounds, ...(at === undefined ? {} : { commits: at }) });
    commits = end.commits;
    if (end.died) tally.deaths += 1;
    const again = calls.slice(from).filter((call) => paid.has(call));
    if (again.length > 0) tally.faults.push(`${name} ${JSON.stringify(deaths)}: paid again ${again.join(', ')}`);
    for (const call of recordedCalls(dir)) paid.add(call);
  }
  tally.runs += 1;
  const faults = await judge(dir, parent, plan);
  tally.faults.push(...faults.map((fault) => `${name} ${JSON.stringify(deaths)} ${JSON.stringify(plan)}: ${fault}`));
  return commits;
}

async function judge(dir: string, parent: string, plan: Plan): Promise<readonly string[]> {
  await using opened = await openJournal({ dir, clock: systemClock });
  const { journal } = opened;
  const faults: string[] = [];
  const events = (await journal.record.of(parent)).map(({ event }) => event);
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  const text = (await journal.part(partKey(parent, 0)))?.part.text;
  const isCancelled = events.some((event) => event.type === 'finished' && event.outcome === 'cancelled');
  if (isCancelled && text !== undefined) faults.push('a cancelled parent answered');
  if (isCancelled && !plan.cancelled) faults.push('it was cancelled');
  if (count('finished') !== 1) faults.push(`it ended ${count('finished')} times`);
  if (!isCancelled && count('parked') !== 1) faults.push(`it parked ${count('parked')} times`);
  const expected = `all: ${plan.children.map((kind, n) => (kind === 'fail' ? 'failed' : `did ${n}`)).join(', ')}`;
  if (!isCancelled && text !== expected) faults.push(`it answered ${JSON.stringify(text)}`);
  const { NEW, RUNNING, PARKED } = (await journal.counts()).inbox;
  if (NEW + RUNNING + PARKED > 0) faults.push(`left over: ${NEW} ${RUNNING} ${PARKED}`);
  if (plan.hasBackground) faults.push(...(await judgeReport(journal, parent, plan, isCancelled)));
  return faults;
}

async function judgeReport(journal: Journal, parent: string, plan: Plan, isCancelled: boolean): Promise<readonly string[]> {
  const steps = (await journal.record.of(parent)).map(({ event }) => event);
  const first = steps.find((event) => event.type === 'settled');
  if (first?.type !== 'settled') return isCancelled ? [] : ['no child ended'];
  const call = `${first.callId.slice(0, first.callId.lastIndexOf('_'))}_${plan.children.length}`;
  const report = (await journal.part(partKey(reportKey(`${parent}#${call}`), 0)))?.part.text;
  // What ended before the cancellation is told, what was ended by it is not.
  if (isCancelled && report === undefined) return [];
  return report === 'told: did background' ? [] : [`the report says ${JSON.stringify(report)}`];
}

const runOf = ({ messages }: ModelRequest): string => (messages[0]?.id ?? '').replace(/#system$/, '');

/** Each call by its run and how many answers came before. */
function modelOf(plan: Plan, calls: string[]): Model {
  return scriptedModel((request) => {
    const run = runOf(request);
    const own = request.messages.filter(({ id }) => id.startsWith(`${run}#`) || id === `${run}:in`);
    const answers = own.filter(({ role }) => role === 'assistant').length;
    calls.push(`${run}:${answers}`);
    const asked = own.find(({ role }) => role === 'user')?.content ?? '';
    if (asked.startsWith('[The sub-agent')) return `told: ${asked.split('\n\n')[1]}`;
    if (asked.endsWith('do it all')) return answers === 0 ? begin(plan) : `all: ${results(own)}`;
    const task = /^\[You are a sub-agent[^\]]*\]\n\n(ok|fail|step|background)(?: (\d))?$/.exec(asked);
    if (task?.[1] === 'fail') return { fail: 'bad-request' };
    if (task?.[1] === 'step' && answers === 0) return { text: '', toolCalls: [{ name: 'list_dir', arguments: {} }] };
    return `did ${task?.[2] ?? task?.[1]}`;
  });
}

function begin({ children, hasBackground }: Plan) {
  const waited = children.map((kind, n) => ({
    name: 'dispatch_subagent',
    arguments: { task_description: `${kind} ${n}` },
  }));
  const background = { name: 'spawn', arguments: { task: 'background', label: 'bg' } };
  return { text: 'on it', toolCalls: [...waited, ...(hasBackground ? [background] : [])] };
}

function results(own: ModelRequest['messages']): string {
  const all = own.filter(({ role }) => role === 'tool').map(({ content }) => content);
  const waited = all.filter((content) => !content.startsWith('The sub-agent “bg”'));
  return waited.map((content) => (content.startsWith('Error: ') ? 'failed' : content)).join(', ');
}

/** Calls whose answer is on disk, of all runs in the file. */
function recordedCalls(dir: string): readonly string[] {
  using db = new DatabaseSync(join(dir, 'journal.db'), { readOnly: true });
  const rows = db
    .prepare(
      "SELECT run.key AS run, count(*) AS calls FROM step JOIN run ON run.seq = step.run_seq WHERE step.kind = 'model' GROUP BY run.seq",
    )
    .all();
  return rows.flatMap(({ run, calls }) => Array.from({ length: Number(calls) }, (_, n) => `${run}:${n}`));
}
