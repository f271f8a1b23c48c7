import { randomUUID } from 'node:crypto';
import { GatehouseError } from '../../core/errors.ts';
import type { ModelFailure, ModelRequest, Usage } from '../../core/model.ts';
import { nearest } from '../../lib/edit-distance.ts';
import { printable } from '../../lib/printable.ts';
import type { ModelTimeouts } from '../../llm/deadlines.ts';
import { costOf } from '../../llm/money/cost.ts';
import { type Command, type CommandContext, readConfig, sayWarnings } from '../context.ts';
import type { CliDeps } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';
import { type Failure, formatTable, type Output } from '../output.ts';
import { withJournal } from '../read-journal.ts';
import { type MediaCheck, type MediaResult, mediaChecks } from './media-checks.ts';
import { entryId, type ModelEntry, modelEntries } from './models-entries.ts';

/** Somebody waits at the terminal: longer than this is a failure, whatever the daemon allows. ms. */
const PATIENCE_MS = 60_000;
/** Room for a model that thinks before it says one word; the answer itself is a token or two. */
const OUTPUT_TOKENS = 512;

/** Silence of a terminal that is long enough to wonder. ms. */
const SILENCE_MS = 1_000;

interface Tested {
  readonly entry: ModelEntry;
  /** The variable of the key that was tried, where the entry has several. */
  readonly keyFrom?: string;
  readonly ms?: number;
  readonly usage?: Usage;
  readonly costUsd?: number | null;
  readonly failure?: Failure;
}

/** One small real call to each model of the config, all at once, those to chat models without retries. */
export const modelsTest: Command<{ readonly name?: string }> = async (context, { name }) => {
  const { deps, out } = context;
  const loaded = await readConfig(context);
  sayWarnings(context, loaded);
  const { models: entries, media } = choose(await modelEntries(loaded, context), mediaChecks(loaded, context), name);
  const { llm_connect_timeout_secs, llm_timeout_secs } = loaded.config.gateway;
  const timeouts = {
    connectMs: llm_connect_timeout_secs * 1_000,
    totalMs: Math.min(llm_timeout_secs * 1_000, PATIENCE_MS),
  };
  const calls = Promise.all([
    Promise.all(entries.flatMap(entryPerKey).map((entry) => testEntry(entry, deps, timeouts))),
    Promise.all(media.map((check) => check.run(timeouts.totalMs))),
  ]);
  const answered = new AbortController();
  const waiting = () => out.say(`waiting for the models, at most ${Math.ceil(timeouts.totalMs / 1_000)} s`);
  void deps.clock.sleep(SILENCE_MS, answered.signal).then(waiting, () => undefined);
  const [tested, checked] = await calls.finally(() => answered.abort());
  await book(tested, context);
  out.data(formatTable([...tested.map((result) => row(result, out)), ...checked.map((result) => mediaRow(result, out))]));
  const results = [...tested, ...checked];
  const failed = results.filter(({ failure }) => failure);
  const models = [...tested.map(toJson), ...checked.map(mediaToJson)];
  if (failed[0]?.failure) {
    const { code, hint } = failed[0].failure;
    const what = tested.some(({ keyFrom }) => keyFrom) ? 'models and keys' : 'models';
    out.fail({ code, message: `${failed.length} of ${results.length} ${what} failed`, hint }, { models });
    return EXIT.failed;
  }
  out.document({ models });
  return EXIT.ok;
};

interface Chosen {
  readonly models: readonly ModelEntry[];
  readonly media: readonly MediaCheck[];
}

function choose(models: readonly ModelEntry[], media: readonly MediaCheck[], name: string | undefined): Chosen {
  if (models.length + media.length === 0) {
    throw new GatehouseError('GH1104', 'no model is configured, so there is nothing to test', {
      hint: 'run `gatehouse setup`, or export the key of a provider',
    });
  }
  if (name === undefined) return { models, media };
  const chosen = {
    models: models.filter((entry) => entry.name === name || entryId(entry) === name),
    media: media.filter((check) => check.name === name),
  };
  if (chosen.models.length + chosen.media.length > 0) return chosen;
  const meant = nearest(
    name,
    [...models, ...media].map((entry) => entry.name),
  );
  throw new GatehouseError('GH1003', `the config has no model ${printable(name.slice(0, 80))}`, {
    hint: meant === undefined ? 'run `gatehouse models list`' : `did you mean ${meant}?`,
  });
}

type Tried = Pick<Tested, 'entry' | 'keyFrom'>;

/** The daemon goes on to the next key when one is refused: only a call with each shows that one is dead. */
function entryPerKey(entry: ModelEntry): Tried[] {
  const { key } = entry;
  if (!key?.more) return [{ entry }];
  return [key, ...key.more].map(({ from, value }) => ({ entry: { ...entry, key: { from, value } }, keyFrom: from }));
}

/** One call. Rejects with what `createModel` rejects with. */
export async function testEntry(tried: Tried, deps: CliDeps, timeouts: ModelTimeouts): Promise<Tested> {
  const { target, key, problem } = tried.entry;
  if (problem || !target) return { ...tried, failure: problem ?? NO_ANSWER };
  const model = await deps.createModel(target, { apiKey: key?.value(), timeouts });
  const start = deps.clock.monotonic();
  // The time limits of the call end it; Ctrl-C ends the process.
  for await (const event of model.call(REQUEST, new AbortController().signal)) {
    const ms = Math.round(deps.clock.monotonic() - start);
    if (event.type === 'failed') return { ...tried, ms, failure: toFailure(event.failure) };
    if (event.type === 'done') {
      const { usage } = event.answer;
      return { ...tried, ms, usage, costUsd: usage.costUsd ?? costOf(usage, target.facts.price) };
    }
  }
  return { ...tried, failure: NO_ANSWER };
}

/** Books these calls, paid like any other. Makes no ledger where there is none: nothing else was spent. */
export async function book(tested: readonly Tested[], context: CommandContext): Promise<void> {
  await withJournal(context, async ({ journal }) => {
    for (const { entry, usage, costUsd = null } of tested) {
      if (!usage || !entry.target) continue;
      const { provider, model } = entry.target;
      const names = { provider: provider.name, model };
      const at = context.deps.clock.now();
      await journal.spend({ id: `test-${randomUUID()}`, at, ...names, ...usage, costUsd, ...REQUEST.context });
    }
  });
}

const NO_ANSWER: Failure = { code: 'GH2108', message: 'the model returned nothing', hint: 'try again' };

const REQUEST: ModelRequest = {
  messages: [{ id: 'test-1', role: 'user', content: 'Answer with the word ok.', timestamp: '1970-01-01T00:00:00Z' }],
  tools: [],
  maxOutputTokens: OUTPUT_TOKENS,
  context: { session: 'cli:models-test', channel: 'cli', sender: 'models-test', purpose: 'test' },
};

function toFailure({ code, message, hint }: ModelFailure): Failure {
  return { code, message, hint };
}

function mediaRow({ name, id, ms, dimensions, failure }: MediaResult, out: Output): string[] {
  const cells = [`${out.mark(failure ? 'bad' : 'ok')} ${name}`, printable(id ?? '?'), ms === undefined ? '-' : `${ms} ms`];
  if (failure) return [...cells, failureText(failure)];
  if (dimensions !== undefined) return [...cells, `${dimensions} dimensions`];
  return [...cells, ms === undefined ? 'the program is there' : 'a second of silence was taken'];
}

function failureText({ code, message, hint }: Failure): string {
  return `${code} ${printable(message)}  → ${printable(hint)}`;
}

function row({ entry, keyFrom, ms, usage, costUsd, failure }: Tested, out: Output): string[] {
  const name = `${printable(entry.name)}${keyFrom ? ` with ${keyFrom}` : ''}`;
  const cells = [`${out.mark(failure ? 'bad' : 'ok')} ${name}`, entryId(entry), ms === undefined ? '-' : `${ms} ms`];
  if (failure) return [...cells, failureText(failure)];
  return [...cells, `${usage?.tokensIn} tokens in, ${usage?.tokensOut} out, ${costText(costUsd ?? null)}`];
}

function costText(usd: number | null): string {
  if (usd === null) return 'price unknown';
  return usd === 0 ? 'free' : `${Number(usd.toPrecision(3)).toFixed(7).replace(/0+$/, '')} USD`;
}

function toJson({ entry, keyFrom, ms, usage, costUsd, failure }: Tested): Record<string, unknown> {
  return {
    name: entry.name,
    provider: entry.target?.provider.name ?? null,
    model: entry.target?.model ?? null,
    keyFrom: keyFrom ?? entry.key?.from ?? null,
    ok: failure === undefined,
    ms: ms ?? null,
    tokensIn: usage?.tokensIn ?? null,
    tokensOut: usage?.tokensOut ?? null,
    costUsd: costUsd ?? null,
    error: failure ?? null,
  };
}

/** In the form of the models; `dimensions` beside. */
function mediaToJson({ name, id, ms, dimensions, failure }: MediaResult): Record<string, unknown> {
  const [provider, ...model] = id?.split('/') ?? [];
  return {
    name,
    provider: provider ?? null,
    model: id === undefined ? null : model.join('/'),
    ok: failure === undefined,
    ms: ms ?? null,
    tokensIn: null,
    tokensOut: null,
    costUsd: null,
    dimensions: dimensions ?? null,
    error: failure ?? null,
  };
}
