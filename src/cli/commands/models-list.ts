import type { LoadedConfig } from '../../../config/load.ts';
import { shownUrl } from '../../lib/echo-redactor.ts';
import { printable } from '../../lib/printable.ts';
import { CATALOG_AS_OF } from '../../llm/catalog/catalog.ts';
import { type Command, readConfig, sayWarnings } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatTable, type Output } from '../output.ts';
import { entryId, type ModelEntry, modelEntries, PRICE_UNIT, priceText, tokensText } from './models-entries.ts';

const LOOKS = 'at its start the daemon looks for a server on this machine';
const NO_MAIN = `no model is configured: ${LOOKS}, and answers as the demo without`;
const ONLY_FALLBACKS = `no main model is configured: ${LOOKS}, and begins with fallback-1 without`;

/** The models of the config. Calls nobody; see `models test`. */
export const modelsList: Command<unknown> = async (context) => {
  const { out } = context;
  const loaded = await readConfig(context);
  sayWarnings(context, loaded);
  const entries = await modelEntries(loaded, context);
  if (entries.length > 0) {
    out.data(formatTable([HEAD, ...entries.map((entry) => row(entry, out))]));
    for (const line of choicesOf(loaded.config)) out.data(line);
    out.data(`${PRICE_UNIT}; catalog of ${CATALOG_AS_OF}`);
  }
  if (entries[0]?.name !== 'main') {
    out.say(`${out.mark('warn', 'stderr')} ${entries.length > 0 ? ONLY_FALLBACKS : NO_MAIN}`);
    out.say('  → gatehouse setup, or export the key of a provider');
  }
  out.document({
    models: entries.map(toJson),
    thinking: loaded.config.thinking,
    purposes: loaded.config.purposes,
    catalogUpdatedAt: CATALOG_AS_OF,
  });
  return EXIT.ok;
};

const HEAD = ['  name', 'model', 'wire', 'window', 'price', 'key'];

function row(entry: ModelEntry, out: Output): string[] {
  const { target, problem } = entry;
  const state = out.mark(problem ? 'bad' : target?.facts.price ? 'ok' : 'warn');
  const name = `${state} ${printable(entry.name)}`;
  if (!target) return [name, entryId(entry), '', '', '', problemText(entry)];
  const { wire, contextWindow, facts } = target;
  return [name, entryId(entry), wire, tokensText(contextWindow), priceText(facts.price), keyText(entry)];
}

/** How models are chosen, as far as the config says. */
function choicesOf({ thinking, purposes, gateway }: LoadedConfig['config']): readonly string[] {
  const channels = gateway.channels.flatMap(({ name, type, model, sender_models, thinking: level }) => [
    ...(model === undefined ? [] : [`channel ${name ?? type}: model ${model}`]),
    ...(sender_models ? [`channel ${name ?? type}: ${Object.keys(sender_models).length} senders have a model of their own`] : []),
    ...(level === undefined ? [] : [`channel ${name ?? type}: thinking ${level}`]),
  ]);
  const works = Object.entries(purposes).map(([purpose, model]) => `purpose ${purpose}: model ${model}`);
  return [`thinking: ${thinking}`, ...works, ...channels].map(printable);
}

function keysOf({ key, target }: ModelEntry): readonly string[] {
  if (!key) return target?.credentials ? [target.credentials.from] : [];
  return [key, ...(key.more ?? [])].map(({ from }) => from);
}

function keyText(entry: ModelEntry): string {
  if (entry.problem) return problemText(entry);
  const keys = keysOf(entry);
  if (keys.length === 0) return 'none needed';
  return keys[0] === 'login' ? 'from the stored login' : `from ${keys.join(', ')}`;
}

function problemText({ problem }: ModelEntry): string {
  return problem ? `${problem.code} ${printable(problem.message)}` : '';
}

function toJson(entry: ModelEntry): Record<string, unknown> {
  const { name, description, target, problem } = entry;
  const keys = keysOf(entry);
  return {
    name,
    description: description ?? null,
    provider: target?.provider.name ?? null,
    model: target?.model ?? null,
    wire: target?.wire ?? null,
    baseUrl: target ? shownUrl(target.baseUrl) : null,
    contextWindow: target?.contextWindow ?? null,
    maxOutputTokens: target?.facts.maxOutputTokens ?? null,
    vision: target?.facts.vision ?? null,
    tools: target?.facts.tools ?? null,
    price: target?.facts.price ?? null,
    keyFrom: keys[0] ?? null,
    keysFrom: keys,
    problem: problem ?? null,
  };
}
