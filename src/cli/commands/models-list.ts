import { printable } from '../../lib/printable.ts';
import { CATALOG_UPDATED_AT } from '../../llm/catalog/catalog.ts';
import { PRICES_UPDATED_AT } from '../../llm/catalog/price.ts';
import { createRedactor, urlSecrets } from '../../llm/redact.ts';
import { type Command, readConfig, sayWarnings } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatTable, type Output } from '../output.ts';
import { entryId, type ModelEntry, modelEntries, priceText, tokensText } from './models-entries.ts';

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
    out.data(`prices in USD per million tokens in / out, table of ${PRICES_UPDATED_AT}`);
  }
  if (entries[0]?.name !== 'main') {
    out.say(`${out.mark('warn', 'stderr')} ${entries.length > 0 ? ONLY_FALLBACKS : NO_MAIN}`);
    out.say('  → gatehouse init, or export the key of a provider');
  }
  out.document({
    models: entries.map(toJson),
    catalogUpdatedAt: CATALOG_UPDATED_AT,
    pricesUpdatedAt: PRICES_UPDATED_AT,
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

function keyText(entry: ModelEntry): string {
  if (entry.problem) return problemText(entry);
  if (!entry.key) return 'none needed';
  return entry.key.from === 'login' ? 'from the stored login' : `from ${entry.key.from}`;
}

function problemText({ problem }: ModelEntry): string {
  return problem ? `${problem.code} ${printable(problem.message)}` : '';
}

function toJson({ name, target, key, problem }: ModelEntry): Record<string, unknown> {
  const url = target && new URL(target.baseUrl);
  return {
    name,
    provider: target?.provider.name ?? null,
    model: target?.model ?? null,
    wire: target?.wire ?? null,
    // Without its query and what looks like a key in its path.
    baseUrl: url ? createRedactor(urlSecrets(url.href))(`${url.origin}${url.pathname}`) : null,
    contextWindow: target?.contextWindow ?? null,
    maxOutputTokens: target?.facts.maxOutputTokens ?? null,
    vision: target?.facts.vision ?? null,
    tools: target?.facts.tools ?? null,
    price: target?.facts.price ?? null,
    keyFrom: key?.from ?? null,
    problem: problem ?? null,
  };
}
