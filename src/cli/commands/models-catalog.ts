import { GatehouseError } from '../../core/errors.ts';
import { nearest } from '../../lib/edit-distance.ts';
import { printable } from '../../lib/printable.ts';
import { CATALOG_UPDATED_AT, type CatalogModel, catalogModels } from '../../llm/catalog/catalog.ts';
import { factsOf } from '../../llm/catalog/facts.ts';
import { PRICES_UPDATED_AT } from '../../llm/catalog/price.ts';
import { findProvider, PROVIDERS } from '../../llm/providers/index.ts';
import type { Provider } from '../../llm/providers/provider.ts';
import type { Command } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatTable } from '../output.ts';
import { priceText, tokensText } from './models-entries.ts';

/** What this version knows of providers and models, with the dates of the data. Reads no config. */
export const modelsCatalog: Command<{ readonly provider?: string }> = async ({ out }, { provider: name }) => {
  const providers = name === undefined ? PROVIDERS : [chosen(name)];
  const models = providers.flatMap((provider) =>
    catalogModels()
      .filter((entry) => entry.provider === provider.name)
      .map((entry) => ({ entry, facts: factsOf(provider, entry.model) })),
  );
  out.data(formatTable([['provider', 'default model', 'key', 'address'], ...providers.map(providerRow)]));
  if (models.length > 0) {
    const rows = models.map(({ entry, facts: { contextWindow, vision, tools, price } }) => [
      entry.id,
      tokensText(contextWindow),
      entry.maxOutputTokens === undefined ? 'unknown' : tokensText(entry.maxOutputTokens),
      [vision ? 'vision' : '', tools ? 'tools' : ''].filter(Boolean).join(', '),
      priceText(price),
    ]);
    out.data(`\n${formatTable([['model', 'window', 'output', 'can', 'price'], ...rows])}`);
  }
  out.data(`\nmodels as of ${CATALOG_UPDATED_AT}; prices as of ${PRICES_UPDATED_AT}, in USD per million tokens in / out`);
  out.data('a model that is not listed is taken by its family; model_hints in the config correct what is wrong or missing');
  out.document({
    catalogUpdatedAt: CATALOG_UPDATED_AT,
    pricesUpdatedAt: PRICES_UPDATED_AT,
    providers: providers.map(providerJson),
    models: models.map(({ entry, facts }) => ({ ...modelJson(entry), ...facts, maxOutputTokens: entry.maxOutputTokens ?? null })),
  });
  return EXIT.ok;
};

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

function providerRow({ name, aliases, defaultModel, keyEnv, keyRequired, baseUrl }: Provider): string[] {
  return [
    [name, ...aliases].join(', '),
    defaultModel ?? '(name one)',
    keyEnv === undefined ? 'none needed' : `${keyEnv}${keyRequired ? '' : ' (optional)'}`,
    baseUrl ?? '(name one)',
  ];
}

function providerJson({ name, aliases, wire, defaultModel, keyEnv, keyRequired, baseUrl }: Provider): Record<string, unknown> {
  return {
    name,
    aliases,
    wire,
    defaultModel: defaultModel ?? null,
    keyEnv: keyEnv ?? null,
    keyRequired,
    baseUrl: baseUrl ?? null,
  };
}

function modelJson({ provider, model, aliases }: CatalogModel): Record<string, unknown> {
  return { provider, model, aliases };
}
