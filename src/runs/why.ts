/** Why a message was answered, or was not: gate by gate, from the record and what lies in the journal. */
import type { RunEvent } from '../core/events.ts';
import type { PartSummary, RunAbout, RunSummary } from '../core/record.ts';

export interface Gate {
  readonly gate: 'received' | 'access' | 'lane' | 'model' | 'answer';
  /** `waits`: nothing is wrong, and it is not over. */
  readonly state: 'passed' | 'waits' | 'failed';
  readonly text: string;
}

export interface Why {
  /** One sentence: what became of it, and the reason. */
  readonly verdict: string;
  /** The key of the config that decided, where one did. */
  readonly configKey?: string;
  readonly gates: readonly Gate[];
}

/** Why something was not let in, in words, with the key of the config that says so. */
const REFUSALS: Readonly<Record<string, readonly [text: string, configKey?: string]>> = {
  'not-allowed': ['its sender is not on the list', 'gateway.channels[].allowed_senders'],
  'pairing-required': ['its sender has to be let in first', 'gateway.channels[].allowed_senders'],
  denied: ['the owner has turned its sender down', 'gateway.channels[].allowed_senders'],
  'group-not-allowed': ['the group is not on the list', 'gateway.channels[].allowed_groups'],
  'not-mentioned': ['it did not speak to the assistant', 'gateway.channels[].group_mode'],
  'bot-author': ['another program wrote it'],
  'automatic-mail': ['it is an automatic mail'],
  'forged-sender': ['its sender could not be verified'],
  'own-message': ['the assistant wrote it itself'],
  'loop-cap': ['too many automatic answers went to this address'],
  empty: ['there was nothing in it'],
  'answered-by-platform': ['the platform answers this word itself'],
  'too-large': ['it is larger than is accepted'],
  unreadable: ['it could not be read'],
  deleted: ['it was taken back'],
  unchanged: ['the edit changed no word'],
  reaction: ['it is a reaction, and no question'],
  duplicate: ['the platform delivered it before; see the first one'],
  amended: ['it changed a message that still waited'],
};

export function whyOf(about: RunAbout, now: number): Why {
  const events = about.events.map(({ event }) => event);
  const received = events.find(({ type }) => type === 'received');
  const gates: Gate[] = [];
  if (received) gates.push({ gate: 'received', state: 'passed', text: `from ${received.channel ?? 'a job'}` });
  const jobs = events.findLast((event) => event.type === 'job');
  if (jobs && !about.run) {
    gates.push({ gate: 'access', state: 'failed', text: jobs.reason });
    return { verdict: `The job did not run (${jobs.state}): ${jobs.reason}.`, gates };
  }
  const dropped = events.findLast((event) => event.type === 'dropped');
  if (dropped && !about.run) {
    const [text, configKey] = REFUSALS[dropped.reason] ?? [dropped.reason];
    gates.push({ gate: 'access', state: 'failed', text });
    return { verdict: `It was not let in: ${text}.`, ...(configKey ? { configKey } : {}), gates };
  }
  gates.push({ gate: 'access', state: 'passed', text: 'let in' });
  const { run } = about;
  if (run) gates.push(laneGate(run, events, now));
  const model = modelGate(events);
  if (model) gates.push(model);
  const answer = answerGate(about.parts, now);
  if (answer) gates.push(answer);
  return { verdict: verdictOf(run, events, answer, now), gates };
}

function laneGate(run: RunSummary, events: readonly RunEvent[], now: number): Gate {
  const started = events.findLast((event) => event.type === 'started');
  if (run.state === 'NEW' && run.ahead > 0) return { gate: 'lane', state: 'waits', text: `${run.ahead} before it in its chat` };
  if (run.state === 'NEW' && run.notBefore > now)
    return { gate: 'lane', state: 'waits', text: `tried again in ${seconds(run.notBefore - now)}` };
  if (run.state === 'NEW') return { gate: 'lane', state: 'waits', text: 'waits for its turn' };
  if (run.state === 'PARKED') return { gate: 'lane', state: 'waits', text: 'waits for an answer it asked for' };
  const waited = started?.type === 'started' ? `, after ${seconds(started.waitedMs)}` : '';
  return { gate: 'lane', state: 'passed', text: `begun ${times(run.attempts)}${waited}` };
}

function modelGate(events: readonly RunEvent[]): Gate | undefined {
  const done = events.filter((event) => event.type === 'model.done');
  const failed = events.filter((event) => event.type === 'model.failed');
  if (done.length + failed.length === 0) return undefined;
  const last = failed.at(-1);
  const calls = `${done.length} of ${done.length + failed.length} calls answered`;
  if (done.length === 0 && last)
    return { gate: 'model', state: 'failed', text: `${calls}; ${last.model}: ${last.kind} (${last.code})` };
  return { gate: 'model', state: 'passed', text: `${calls}, by ${[...new Set(done.map(({ model }) => model))].join(', ')}` };
}

function answerGate(parts: readonly PartSummary[], now: number): Gate | undefined {
  if (parts.length === 0) return undefined;
  const count = (state: PartSummary['state']): number => parts.filter((part) => part.state === state).length;
  const bad = parts.find(({ state }) => state === 'DEAD' || state === 'EXPIRED' || state === 'UNKNOWN');
  const because = bad?.reason === undefined ? '' : `: ${bad.reason}`;
  if (bad)
    return { gate: 'answer', state: 'failed', text: `${count(bad.state)} of ${parts.length} parts ${bad.state}${because}` };
  const open = parts.find(({ state }) => state === 'PENDING' || state === 'SENDING');
  if (!open) return { gate: 'answer', state: 'passed', text: `${parts.length} parts sent` };
  const wait = open.notBefore > now ? `, tried again in ${seconds(open.notBefore - now)}` : '';
  const reason = open.reason === undefined ? '' : `: ${open.reason}`;
  return { gate: 'answer', state: 'waits', text: `${count('SENT')} of ${parts.length} parts sent${wait}${reason}` };
}

function verdictOf(run: RunSummary | undefined, events: readonly RunEvent[], answer: Gate | undefined, now: number): string {
  const finished = events.findLast((event) => event.type === 'finished');
  const outcome = run?.outcome ?? (finished?.type === 'finished' ? finished.outcome : undefined);
  if (run?.state === 'NEW' || run?.state === 'RUNNING' || run?.state === 'PARKED') {
    const budget = events.findLast((event) => event.type === 'budget');
    if (budget?.type === 'budget' && budget.step === 'asked') return 'It waits for the owner: a limit of spending was met.';
    if (run.state === 'RUNNING') return 'It is being worked on.';
    return `It waits: ${laneGate(run, events, now).text}.`;
  }
  if (answer?.state === 'failed') return `It was answered, but not delivered: ${answer.text}.`;
  if (answer?.state === 'waits') return `It was answered; the answer is on its way: ${answer.text}.`;
  if (outcome === undefined) return 'Nothing more is known of it.';
  return run?.state === 'DEAD' ? `It was given up: ${outcome}.` : outcomeText(outcome);
}

function outcomeText(outcome: string): string {
  if (outcome === 'answered') return 'It was answered.';
  if (outcome === 'silent') return 'The job had nothing to tell.';
  if (outcome === 'cancelled') return 'It was stopped by a person.';
  if (outcome === 'deleted') return 'It was taken back before its turn.';
  if (outcome === 'not-mentioned') return 'It did not speak to the assistant.';
  if (outcome === 'no-model') return 'There is no model to answer it.';
  if (outcome.startsWith('limit:')) return `It was answered, and cut short by a limit: ${outcome.slice(6)}.`;
  if (outcome.startsWith('failed:')) return `It failed: ${outcome.slice(7)}.`;
  return `It was answered by the gateway itself: ${outcome}.`;
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
