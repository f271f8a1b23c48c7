import { GatehouseError } from '../../core/errors.ts';
import { nearest } from '../../lib/edit-distance.ts';
import { printable } from '../../lib/printable.ts';
import { CATALOG_AS_OF, type CatalogRow, catalogRows, DEFAULT_MODELS } from '../../llm/catalog/catalog.ts';
import { factsOf } from '../../llm/catalog/facts.ts';
import { findProvider, PROVIDERS } from '../../llm/providers/index.ts';
import type { Provider } from '../../llm/providers/provider.ts';
import type { Command } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatTable } from '../output.ts';
import { PRICE_UNIT, priceText, tokensText } from './models-entries.ts';
import { showUpdates } from './models-updates.ts';

/**
 * What this version knows of providers and models, with the day of the data; or what changed since the
 * version before. Reads no config.
 */
export const modelsCatalog: Command<{ readonly provider?: string; readonly updates?: boolean }> = async (context, options) => {
  const { out } = context;
  const providers = options.provider === undefined ? PROVIDERS : [chosen(options.provider)];
  if (options.updates) return await showUpdates(out, new Set(providers.map(({ name }) => name)));
  const models = providers.flatMap((provider) =>
    catalogRows(provider.name)
      .filter(([, row]) => row.window !== undefined)
      .map(([model, row]) => ({ provider: provider.name, model, row, facts: factsOf(provider, model) })),
  );
  out.data(formatTable([['provider', 'default model', 'key', 'address'], ...providers.map(providerRow)]));
  if (models.length > 0) {
    const rows = models.map(({ provider, model, row, facts: { contextWindow, vision, tools, price } }) => [
      `${provider}/${model}`,
      tokensText(contextWindow),
      row.output === undefined ? 'unknown' : tokensText(row.output),
      [vision ? 'vision' : '', tools ? 'tools' : ''].filter(Boolean).join(', '),
      priceText(price),
      endText(row),
    ]);
    out.data(`\n${formatTable([['model', 'window', 'output', 'can', 'price', 'ends'], ...rows])}`);
  }
  out.data(`\nmodels as of ${CATALOG_AS_OF}; ${PRICE_UNIT}`);
  out.data('a model that is not listed is taken by models like it; model_hints in the config correct what is wrong or missing');
  out.document({
    catalogUpdatedAt: CATALOG_AS_OF,
    providers: providers.map(providerJson),
    models: models.map(({ provider, model, row, facts }) => ({
      ...{ provider, model, ...facts, maxOutputTokens: row.output ?? null },
      ...{ ends: row.ends ?? null, replacement: row.replacement ?? null },
    })),
  });
  return EXIT.ok;
};

function endText({ ends, replacement }: CatalogRow): string {
  return ends === undefined ? '' : `${ends}${replacement === undefined ? '' : `, then ${replacement}`}`;
}

function chosen(name: string): Provider {
  const found = findProvider(name);
  if (found) return found;
  const meant = nearest(
    name,
    PROVIDERS.flatMap((provider) => [provider.name, ...provider.aliases]),
  );
  throw new GatehouseError('GH1003', `there is no provider ${printable(name.slice(0, 80))}`, {
    hint: meant === undefined ? 'run `gatehouse models catalog`' : `did you mean ${meant}?`,
  });
}

function providerRow({ name, aliases, keyEnv, keyRequired, baseUrl, addressEnv }: Provider): string[] {
  return [
    [name, ...aliases].join(', '),
    DEFAULT_MODELS[name] ?? '(name one)',
    keyEnv === undefined ? 'none needed' : `${keyEnv}${keyRequired ? '' : ' (optional)'}`,
    baseUrl ?? (addressEnv === undefined ? '(name one)' : `by ${addressEnv}`),
  ];
}

function providerJson({ name, aliases, wire, keyEnv, keyRequired, baseUrl }: Provider): Record<string, unknown> {
  return {
    name,
    aliases,
    wire,
    defaultModel: DEFAULT_MODELS[name] ?? null,
    keyEnv: keyEnv ?? null,
    keyRequired,
    baseUrl: baseUrl ?? null,
  };
}
