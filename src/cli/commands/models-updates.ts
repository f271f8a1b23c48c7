/** What changed in the catalog since the version before. */
import { CATALOG_AS_OF, catalogRows } from '../../llm/catalog/catalog.ts';
import { EXIT } from '../exit-codes.ts';
import { formatTable, type Output } from '../output.ts';

/** Price in and out, null = not known; day on which the model ends. */
type Cells = readonly [number | null, number | null, string?];

interface CatalogUpdates {
  /** Old and new price, `in / out`. */
  readonly prices: readonly { readonly model: string; readonly from: string; readonly to: string }[];
  readonly ending: readonly { readonly model: string; readonly ends: string; readonly replacement: string | null }[];
  readonly added: readonly string[];
  readonly gone: readonly string[];
}

export async function showUpdates(out: Output, providers: ReadonlySet<string>): Promise<number> {
  const { default: previous } = await import('../../llm/catalog/previous.json', { with: { type: 'json' } });
  const updates = compare(previous.models as unknown as Readonly<Record<string, Cells>>, providers);
  const { prices, ending, added, gone } = updates;
  out.data(`catalog of ${CATALOG_AS_OF} compared with that of ${previous.asOf} (${previous.source})`);
  const table = (title: string, rows: readonly string[][]): void =>
    out.data(`\n${title}: ${rows.length}${rows.length === 0 ? '' : `\n${formatTable([...rows])}`}`);
  table(
    'prices that changed, in / out',
    prices.map(({ model, from, to }) => [model, from, '->', to]),
  );
  table(
    'ended or ending',
    ending.map(({ model, ends, replacement }) => [model, ends, replacement ?? '']),
  );
  table(
    'not listed any more',
    gone.map((model) => [model]),
  );
  table(
    'new',
    added.map((model) => [model]),
  );
  out.document({ catalogUpdatedAt: CATALOG_AS_OF, previousUpdatedAt: previous.asOf, ...updates });
  return EXIT.ok;
}

export function compare(previous: Readonly<Record<string, Cells>>, providers: ReadonlySet<string>): CatalogUpdates {
  const updates = { prices: [] as CatalogUpdates['prices'][number][], ending: [] as CatalogUpdates['ending'][number][] };
  const added: string[] = [];
  const listed = new Set<string>();
  for (const provider of providers) {
    for (const [id, { price, ends, replacement = null }] of catalogRows(provider)) {
      const model = `${provider}/${id}`;
      const before = previous[model];
      listed.add(model);
      if (before === undefined) {
        if (ends === undefined) added.push(model);
        continue;
      }
      const [from, to] = [text(before[0], before[1]), text(price?.in ?? null, price?.out ?? null)];
      if (from !== to) updates.prices.push({ model, from, to });
      if (ends !== undefined && before[2] !== ends) updates.ending.push({ model, ends, replacement });
    }
  }
  const gone = Object.keys(previous).filter((model) => providers.has(model.split('/')[0] ?? '') && !listed.has(model));
  return { ...updates, added, gone };
}

function text(input: number | null, output: number | null): string {
  return input === null ? 'unknown' : `${input} / ${output}`;
}
